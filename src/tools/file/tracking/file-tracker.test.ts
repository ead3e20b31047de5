import { utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { toolBench } from "../../../../test/fixtures/tools/tool-bench.ts"
import { patch } from "../patch.ts"
import { readFile } from "../read-file.ts"
import { createFileRegistry, createFileTracker } from "./file-tracker.ts"
import type { FileTrackerOptions } from "./file-tracker.ts"
import { searchFiles } from "../search-files.ts"
import { UNCHANGED_NOTICE } from "./unchanged-notice.ts"
import { writeFile as writeTool } from "../write-file.ts"

const tracker = (options: Partial<FileTrackerOptions> = {}) =>
  createFileTracker({ taskId: "task", registry: createFileRegistry(), guard: true, ...options })
const stamp = (modifiedMs: number) => ({ modifiedMs, size: 1 })

describe("reading the same again", () => {
  test("the second read returns a notice, the third is blocked", async () => {
    await using bench = await toolBench({ workFiles: { f: "a\n", g: "b\n" } })
    const ports = { files: tracker() }
    const read = (args = {}) => bench.call(readFile, { path: "f", ...args }, { ports })
    expect(await read()).toMatchObject({ content: "1|a" })
    expect(await read()).toEqual({
      status: "unchanged",
      message: UNCHANGED_NOTICE,
      path: "f",
      dedup: true,
      content_returned: false,
    })
    expect(await read()).toEqual({ error: expect.stringMatching(/^BLOCKED: /), path: "f", already_read: 3 })
    expect(await read({ limit: 7 })).toMatchObject({ content: "1|a" })
    ports.files.resetRepeatCount()
    expect(await read()).toMatchObject({ status: "unchanged" })
  })

  test("a changed file, a compression, an own write and a watcher's report make it readable again", async () => {
    await using bench = await toolBench({ workFiles: { f: "a\n" } })
    const path = join(bench.home.workdir, "f")
    const ports = { files: tracker() }
    const read = () => bench.call(readFile, { path: "f" }, { ports })
    await read()
    await utimes(path, 1e9, 1e9)
    expect(await read()).toMatchObject({ content: "1|a" })
    ports.files.forget()
    expect(await read()).toMatchObject({ content: "1|a" })
    await bench.call(writeTool, { path: "f", content: "b\n" }, { ports })
    expect(await read()).toMatchObject({ content: "1|b" })
    await bench.call(patch, { path: "f", old_string: "b", new_string: "c" }, { ports })
    expect(await read()).toMatchObject({ content: "1|c" })
    ports.files.forgetFile(path)
    expect(await read()).toMatchObject({ content: "1|c" })
  })

  test("the note itself is not written into a file", async () => {
    await using bench = await toolBench({ workFiles: { f: "a\n" } })
    for (const content of [UNCHANGED_NOTICE, `1|${UNCHANGED_NOTICE}\n`]) {
      expect(await bench.call(writeTool, { path: "f", content })).toEqual({
        error: expect.stringMatching(/nothing was changed$/),
      })
    }
    const long = `${UNCHANGED_NOTICE}${"x".repeat(UNCHANGED_NOTICE.length + 1)}`
    expect(await bench.call(writeTool, { path: "f", content: long })).toMatchObject({ bytes_written: long.length })
  })
})

test("the same search is warned the third time and blocked the fourth; another call resets that", async () => {
  await using bench = await toolBench({ workFiles: { f: "a\n" } })
  const ports = { files: tracker() }
  const search = () => bench.call(searchFiles, { pattern: "a" }, { ports })
  expect(await search()).not.toHaveProperty("_warning")
  expect(await search()).not.toHaveProperty("_warning")
  expect(await search()).toMatchObject({ total_count: 1, _warning: expect.stringContaining("3 times in a row") })
  expect(await search()).toEqual({ error: expect.stringMatching(/^BLOCKED: /), already_read: 4 })
  ports.files.resetRepeatCount()
  expect(await search()).toMatchObject({ total_count: 1 })
})

test("the same read of a file that keeps changing is warned and then blocked", async () => {
  await using bench = await toolBench({ workFiles: { f: "a\n" } })
  const ports = { files: tracker() }
  const read = async (time: number) => {
    await utimes(join(bench.home.workdir, "f"), time, time)
    return await bench.call(readFile, { path: "f" }, { ports })
  }
  await read(1)
  await read(2)
  expect(await read(3)).toMatchObject({ content: "1|a", _warning: expect.stringContaining("3 times") })
  expect(await read(4)).toMatchObject({ error: expect.stringMatching(/^BLOCKED/) })
})

describe("warnings before a write", () => {
  test("no warning after a complete read or an own write", () => {
    const files = tracker()
    files.recordRead({ path: "/f", offset: 1, limit: 500 }, { ...stamp(1), partial: false })
    expect(files.staleWarning("/f", stamp(1), "replace")).toBeUndefined()
    files.recordWrite("/f", stamp(2), "replace")
    expect(files.staleWarning("/f", stamp(2), "replace")).toBeUndefined()
  })

  test("each reason, the most important first", () => {
    const registry = createFileRegistry()
    const [ours, sibling] = [tracker({ registry, taskId: "ours" }), tracker({ registry, taskId: "sibling" })]
    expect(ours.staleWarning("/f", stamp(1), "replace")).toMatch(/replaced without having been read/)
    expect(ours.staleWarning("/f", stamp(1), "edit")).toBeUndefined()
    ours.recordRead({ path: "/f", offset: 1, limit: 5 }, { ...stamp(1), partial: true })
    expect(ours.staleWarning("/f", stamp(1), "replace")).toMatch(/only a part/)
    expect(ours.staleWarning("/f", stamp(1), "edit")).toBeUndefined()
    expect(ours.staleWarning("/f", stamp(2), "replace")).toMatch(/changed by another program/)
    sibling.recordWrite("/f", stamp(3), "replace")
    expect(ours.staleWarning("/f", stamp(3), "edit")).toMatch(/another task changed \/f after/)
    sibling.recordWrite("/g", stamp(1), "replace")
    expect(ours.staleWarning("/g", stamp(1), "edit")).toMatch(/another task wrote \/g/)
    ours.recordRead({ path: "/g", offset: 1, limit: 5 }, { ...stamp(1), partial: false })
    expect(ours.staleWarning("/g", stamp(1), "replace")).toBeUndefined()
  })

  test("reading a part of a completely read file keeps it complete; an edit keeps that state", () => {
    const files = tracker()
    files.recordRead({ path: "/f", offset: 1, limit: 500 }, { ...stamp(1), partial: false })
    files.recordRead({ path: "/f", offset: 5, limit: 5 }, { ...stamp(1), partial: true })
    files.recordWrite("/f", stamp(2), "edit")
    expect(files.staleWarning("/f", stamp(2), "replace")).toBeUndefined()
    files.recordWrite("/never-read", stamp(2), "edit")
    expect(files.staleWarning("/never-read", stamp(2), "replace")).toMatch(/only a part/)
  })

  test("they can be disabled, and equal paths of different workspaces are different files", () => {
    expect(tracker({ guard: false }).staleWarning("/f", stamp(1), "replace")).toBeUndefined()
    const registry = createFileRegistry()
    tracker({ registry, taskId: "a", scope: "container" }).recordWrite("/f", stamp(1), "replace")
    expect(tracker({ registry, taskId: "b" }).staleWarning("/f", stamp(1), "edit")).toBeUndefined()
  })

  test("a change outside after a read is reported in the result", async () => {
    await using bench = await toolBench({ workFiles: { f: "a\nb\n" } })
    const path = join(bench.home.workdir, "f")
    const ports = { files: tracker() }
    await bench.call(readFile, { path: "f" }, { ports })
    await writeFile(path, "a\nb\nc\n")
    expect(await bench.call(patch, { path: "f", old_string: "b", new_string: "x" }, { ports })).toMatchObject({
      _warning: expect.stringContaining("changed by another program"),
    })
    expect(await bench.call(patch, { path: "f", old_string: "x", new_string: "y" }, { ports })).not.toHaveProperty(
      "_warning",
    )
  })

  test("a file outside the workspace is reported after the shell changed its directory", async () => {
    await using bench = await toolBench({ workFiles: { "sub/f": "a\n", f: "a\n" } })
    const ports = { files: tracker({ workspaceRoot: join(bench.home.workdir, "sub") }) }
    expect(await bench.call(readFile, { path: "f" }, { ports })).toMatchObject({
      _warning: expect.stringContaining("the shell's directory"),
    })
    expect(await bench.call(readFile, { path: "sub/f" }, { ports })).not.toHaveProperty("_warning")
    expect(await bench.call(writeTool, { path: "g", content: "" }, { ports })).toHaveProperty("_warning")
  })
})

describe("locks", () => {
  test("two tasks that write one file take turns, and the second is warned", async () => {
    await using bench = await toolBench({ workFiles: { f: "old\n" } })
    const registry = createFileRegistry()
    const [a, b] = ["a", "b"].map((taskId) => ({ files: tracker({ registry, taskId }) }))
    await bench.call(readFile, { path: "f" }, { ports: a! })
    await bench.call(readFile, { path: "f" }, { ports: b! })
    let inside = 0
    let most = 0
    const { files } = bench.workspace
    const slow = {
      ...files,
      write: async (path: string, data: string | Uint8Array) => {
        inside += 1
        most = Math.max(most, inside)
        await new Promise(setImmediate)
        const written = await files.write(path, data)
        inside -= 1
        return written
      },
    }
    const workspace = { ...bench.workspace, files: slow }
    const results = await Promise.all(
      [a!, b!].map((ports, index) =>
        bench.call(writeTool, { path: "f", content: `new ${index}\n` }, { ports, workspace }),
      ),
    )
    // Either may come first; the one whose text is in the file was second, and only that one is warned.
    const second = new TextDecoder().decode(await files.read("f")) === "new 1\n" ? 1 : 0
    const warnings = results.map((result) => (result as { _warning?: string })._warning)
    expect([most, warnings[1 - second], warnings[second]]).toEqual([
      1,
      undefined,
      expect.stringMatching(/^another task changed/),
    ])
  })

  test("files in opposite order do not block each other; different files do not wait", async () => {
    const registry = createFileRegistry()
    const [a, b] = [tracker({ registry, taskId: "a" }), tracker({ registry, taskId: "b" })]
    const order: string[] = []
    const signal = new AbortController().signal
    const work = (name: string) => async () => {
      order.push(`${name} in`)
      await new Promise(setImmediate)
      order.push(`${name} out`)
    }
    await Promise.all([
      a.withLocks(["/x", "/y"], signal, work("a")),
      b.withLocks(["/y", "/x"], signal, work("b")),
      b.withLocks(["/z"], signal, work("c")),
    ])
    expect(order.filter((step) => !step.startsWith("c"))).toEqual(["a in", "a out", "b in", "b out"])
    expect(order.indexOf("c in")).toBeLessThan(order.indexOf("a out"))
    expect(registry.queues.size).toBe(0)
  })

  test("a wait ends with its signal, and later waiters still get the lock", async () => {
    const registry = createFileRegistry()
    const files = tracker({ registry })
    const held = Promise.withResolvers<void>()
    const stop = new AbortController()
    const never = new AbortController().signal
    const first = files.withLocks(["/f"], never, () => held.promise)
    const second = files.withLocks(["/f"], stop.signal, () => Promise.resolve("second"))
    const third = files.withLocks(["/f"], never, () => Promise.resolve("third"))
    stop.abort()
    expect(await second).toBeUndefined()
    held.resolve()
    await first
    expect(await third).toBe("third")
    await new Promise(setImmediate)
    expect(registry.queues.size).toBe(0)
  })

  test("work that fails frees the file", async () => {
    const files = tracker()
    const { signal } = new AbortController()
    await expect(files.withLocks(["/f"], signal, () => Promise.reject(new Error("x")))).rejects.toThrow("x")
    expect(await files.withLocks(["/f"], signal, () => Promise.resolve(1))).toBe(1)
  })
})

test("changedSince: unknown, unchanged, changed or deleted", () => {
  const files = tracker()
  files.recordRead({ path: "/f", offset: 1, limit: 5 }, { ...stamp(1), partial: false })
  files.recordWrite("/g", stamp(2), "replace")
  files.recordRead({ path: "/h", offset: 1, limit: 5 }, { ...stamp(1), partial: false })
  files.recordWrite("/h", undefined, "edit")
  expect([
    files.changedSince("/f", stamp(1)),
    files.changedSince("/f", stamp(2)),
    files.changedSince("/f", undefined),
    files.changedSince("/g", stamp(2)),
    files.changedSince("/h", undefined),
    files.changedSince("/other", stamp(1)),
  ]).toEqual(["unchanged", "changed", "changed", "unchanged", "unknown", "unknown"])
})

test("memory is bounded: the oldest entry is dropped", () => {
  const registry = createFileRegistry()
  const files = tracker({ registry })
  for (let index = 0; index < 5000; index += 1) {
    files.recordRead({ path: `/${index}`, offset: 1, limit: 5 }, { ...stamp(1), partial: false })
  }
  expect(registry.files.size).toBe(4096)
  expect([
    files.timesRequestedAgain({ path: "/0", offset: 1, limit: 5 }, stamp(1)),
    files.changedSince("/3999", stamp(1)),
  ]).toEqual([0, "unknown"])
  expect([
    files.timesRequestedAgain({ path: "/4999", offset: 1, limit: 5 }, stamp(1)),
    files.changedSince("/4000", stamp(1)),
  ]).toEqual([1, "unchanged"])
  for (let index = 0; index < 65; index += 1) files.recordFailedEdit(`/${index}`)
  expect([files.recordFailedEdit("/0"), files.recordFailedEdit("/64")]).toEqual([1, 2])
})
