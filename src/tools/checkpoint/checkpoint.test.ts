import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { ToolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { systemClock } from "../../base/clock.ts"
import { createNamedCheckpoints } from "../../exec/checkpoints/named-checkpoints.ts"
import type { ConversationAccess } from "../../exec/checkpoints/named-checkpoints.ts"
import { createShadowStore } from "../../exec/checkpoints/shadow-store.ts"
import { checkpoint } from "./checkpoint.ts"

const commit = expect.stringMatching(/^[0-9a-f]{40}$/u) as string

function calling(bench: ToolBench, conversation?: ConversationAccess) {
  const { path: home, workdir } = bench.home
  const path = process.env["PATH"] ?? ""
  const store = createShadowStore({ home, path, maxSnapshots: 20, maxFileMb: 10, clock: systemClock })
  const checkpoints = createNamedCheckpoints({
    store,
    root: () => workdir,
    sessionId: () => "20260101_000000_abcdef",
    clock: systemClock,
    ...(conversation === undefined ? {} : { conversation }),
  })
  return (args: Readonly<Record<string, unknown>>) =>
    bench.call(checkpoint, args, {
      ports: { checkpoints: () => Promise.resolve(checkpoints) },
    })
}

test("save, change, diff, restore, undo, delete", async () => {
  await using bench = await toolBench({ workFiles: { "a.txt": "one\n", "b/c.txt": "two\n" } })
  const call = calling(bench)
  const file = (name: string): string => join(bench.home.workdir, name)
  expect(await call({ action: "save", name: "start" })).toEqual({
    success: true,
    name: "start",
    commit,
    conversation_saved: false,
  })
  writeFileSync(file("a.txt"), "changed\n")
  rmSync(file("b"), { recursive: true })
  expect(await call({ action: "diff", name: "start" })).toEqual({
    success: true,
    name: "start",
    files_changed: ["a.txt", "b/c.txt"],
    file_count: 2,
    diff: expect.stringContaining("-one\n+changed\n") as string,
  })
  expect(await call({ action: "restore", name: "start" })).toEqual({
    success: true,
    name: "start",
    commit,
    files_changed: ["a.txt", "b/", "b/c.txt"],
    file_count: 3,
    conversation_restored: false,
    undo: "restore pre-restore",
  })
  expect([readFileSync(file("a.txt"), "utf8"), readFileSync(file("b/c.txt"), "utf8")]).toEqual(["one\n", "two\n"])
  expect(await call({ action: "restore", name: "pre-restore" })).toMatchObject({ success: true })
  expect(readFileSync(file("a.txt"), "utf8")).toBe("changed\n")
  const names = expect.arrayContaining(["start", "pre-restore"]) as string[]
  const listed = (await call({ action: "list" })) as { checkpoints: { name: string }[]; count: number }
  expect([listed.checkpoints.map(({ name }) => name), listed.count]).toEqual([names, 2])
  expect(await call({ action: "delete", name: "start" })).toEqual({ success: true, name: "start" })
  expect(await call({ action: "restore", name: "start" })).toEqual({
    error: "there is no checkpoint start in this session; saved: pre-restore",
  })
})

test("the conversation is saved and restored only on request", async () => {
  await using bench = await toolBench({ workFiles: { a: "1" } })
  const rewound: unknown[] = []
  const messages = [{ role: "user", content: "hello" }]
  const call = calling(bench, {
    messages: () => messages,
    todo: () => [{ id: "1", content: "x", status: "pending" }],
    rewind: (saved) => {
      rewound.push(saved)
    },
  })
  await call({ action: "save", name: "with", include_conversation: true })
  await call({ action: "save", name: "without" })
  const file = join(bench.home.path, "checkpoints", "20260101_000000_abcdef", "with.json")
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({
    name: "with",
    created_at: expect.any(Number) as number,
    session_id: "20260101_000000_abcdef",
    message_count: 1,
    messages,
    todo: [{ id: "1", content: "x", status: "pending" }],
    cwd: bench.home.workdir,
    commit,
  })
  expect(await call({ action: "restore", name: "without", include_conversation: true })).toMatchObject({
    conversation_restored: false,
  })
  expect(await call({ action: "restore", name: "with" })).toMatchObject({ conversation_restored: false })
  expect(rewound).toEqual([])
  expect(await call({ action: "restore", name: "with", include_conversation: true })).toMatchObject({
    conversation_restored: true,
  })
  expect(rewound).toEqual([{ messageCount: 1, messages, todo: [{ id: "1", content: "x", status: "pending" }] }])
})

test.each([
  [{ action: "save" }, "name is missing"],
  [{ action: "save", name: "a/b" }, "a checkpoint's name has 1 to 64 letters, digits, dots, dashes or underscores"],
  [{ action: "restore", name: "../x" }, "a checkpoint's name has 1 to 64 letters, digits, dots, dashes or underscores"],
  [{ action: "diff", name: "none" }, "there is no checkpoint none in this session; none was saved"],
])("%j returns an error", async (args, error) => {
  await using bench = await toolBench()
  expect(await calling(bench)(args)).toEqual({ error })
})

test("names that are not valid references work", async () => {
  await using bench = await toolBench({ workFiles: { a: "1" } })
  const call = calling(bench)
  for (const name of ["..", "x.lock", ".hidden", "-dash"]) {
    expect(await call({ action: "save", name })).toMatchObject({ success: true })
    expect(await call({ action: "restore", name })).toMatchObject({ success: true, file_count: 0 })
  }
})

test("without the port it returns an error", async () => {
  await using bench = await toolBench()
  expect(await bench.call(checkpoint, { action: "list" })).toEqual({ error: "checkpoints are not available here" })
})

test.each([
  ["save", "write"],
  ["restore", "write"],
  ["delete", "write"],
  ["list", "read"],
  ["diff", "read"],
])("%s has access %s", (action, access) => {
  const parsed = checkpoint.runnable.parse({ action, name: "x" })
  expect(parsed.ok && parsed.value.access).toBe(access)
})

test("its digest and a short schema", () => {
  const call = { tool: "checkpoint", args: { action: "save", name: "start" }, result: "" }
  expect(checkpoint.runnable.digest?.(call)).toBe("[checkpoint] save start")
  const { name, description, parameters } = checkpoint
  expect(JSON.stringify({ name, description, parameters }).length).toBeLessThan(750)
})
