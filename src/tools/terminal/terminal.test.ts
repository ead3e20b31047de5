import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { processBench } from "../../../test/fixtures/tools/process-bench.ts"
import type { CommandExit, Workspace } from "../../exec/workspace.ts"
import { terminal } from "./terminal.ts"
import { bufferLines } from "./buffer-lines.ts"
import { forbiddenCharacter } from "./workdir.ts"

test("output, exit code and meaning; colours are removed", async () => {
  await using bench = await toolBench({ workFiles: { f: "x\n" } })
  expect(await bench.result(terminal, { command: String.raw`printf '\033[31mred\033[0m\n\n'; exit 3` })).toEqual({
    content: { output: "red", exit_code: 3, error: null },
    summary: "exit code 3",
    outputTail: "red",
    exitCode: 3,
  })
  expect(await bench.call(terminal, { command: "grep no f" })).toEqual({
    output: "",
    exit_code: 1,
    error: null,
    exit_code_meaning: "no matches were found (not an error)",
  })
})

test("a timeout and an interrupt keep the output", async () => {
  await using bench = await toolBench()
  expect(await bench.call(terminal, { command: "echo a; sleep 60", timeout: 1 })).toEqual({
    output: "a\n[Command timed out after 1s]",
    exit_code: 124,
    error: null,
  })
  const stop = new AbortController()
  const running = bench.call(
    terminal,
    { command: "echo b; sleep 60" },
    {
      signal: stop.signal,
      progress: () => {
        stop.abort()
      },
    },
  )
  expect(await running).toEqual({ output: "b\n[Command interrupted]", exit_code: 130, error: null })
})

test("long output keeps its beginning and its end, counted without colours", async () => {
  await using bench = await toolBench()
  const script = String.raw`process.stdout.write("\x1b[1m" + "a".repeat(20000) + "\x1b[0m".repeat(100) + "b".repeat(10000) + "c".repeat(30000))`
  await writeFile(join(bench.home.workdir, "s.mjs"), script)
  expect(await bench.call(terminal, { command: "node s.mjs" })).toEqual({
    output: `${"a".repeat(20_000)}\n\n[... 10000 of 60000 characters left out ...]\n\n${"c".repeat(30_000)}`,
    exit_code: 0,
    error: null,
  })
})

test("secrets reach neither the result nor the live output, even when split over two chunks", async () => {
  await using bench = await toolBench()
  const content = await bench.call(terminal, { command: "printf planted-; sleep 0.1; echo secret-value" })
  expect([JSON.stringify(content), bench.progress.join("")].map((text) => text.includes("secret-value"))).toEqual([
    false,
    false,
  ])
})

test.each([
  ["/tmp/$(id)", '"$"'],
  ["/tmp;ls", '";"'],
  ["/a`b`", '"`"'],
  ["/q'", `"'"`],
  ["/x&y", '"&"'],
  ["a\nb", String.raw`"\n"`],
  ["a\0b", String.raw`"\u0000"`],
])("a workdir %j is refused and the character named", async (workdir, named) => {
  await using bench = await toolBench()
  const error = `the command was not run: workdir contains ${named}, which is not allowed there`
  expect(await bench.call(terminal, { command: "pwd", workdir })).toEqual({ output: "", exit_code: -1, error })
})

test.each(["/tmp/x", "/a b/c", "~/p", String.raw`C:\x`, "/é", "/e\u0301"])("a workdir %j may be used", (workdir) => {
  expect(forbiddenCharacter(workdir)).toBeUndefined()
})

test("a workdir is relative to the working directory; a missing one or a file is an error", async () => {
  await using bench = await toolBench({ workFiles: { f: "x" } })
  await mkdir(join(bench.home.workdir, "a b"))
  expect(await bench.call(terminal, { command: "pwd", workdir: "a b" })).toMatchObject({
    output: join(bench.home.workdir, "a b"),
  })
  expect(await bench.call(terminal, { command: "pwd", workdir: "no" })).toMatchObject({
    error: "the command was not run: the working directory no does not exist",
  })
  expect(await bench.call(terminal, { command: "pwd", workdir: "f" })).toMatchObject({
    error: "the command was not run: the working directory f is not a directory",
  })
})

test.each([
  [{ command: "" }, "`command` must not be empty"],
  [{}, "`command` is required"],
  [{ command: 5 }, "`command` must be a string"],
  [{ command: "x", timeout: 0 }, "`timeout` must be at least 1"],
])("arguments %j are refused", async (args, reason) => {
  await using bench = await toolBench()
  await expect(bench.call(terminal, args)).rejects.toThrow(reason)
})

test("a foreground timeout beyond the limit, and a server, are sent to the background", async () => {
  await using bench = await toolBench()
  expect(await bench.call(terminal, { command: "true", timeout: 601 })).toEqual({
    output: "",
    exit_code: -1,
    error:
      "the command was not run: timeout may be at most 600 seconds. For a longer job use background=true with notify_on_complete=true",
  })
  expect(await bench.call(terminal, { command: "npm start" })).toMatchObject({
    exit_code: -1,
    error: expect.stringContaining("npm start does not exit on its own") as string,
  })
})

test("directory, variables and functions persist between calls; a removed directory is reported", async () => {
  await using bench = await toolBench()
  const { workdir } = bench.home
  await bench.call(terminal, { command: "mkdir d && cd d && export A=1 && f() { echo f-$A; }" })
  expect(await bench.call(terminal, { command: "pwd; f" })).toMatchObject({ output: `${workdir}/d\nf-1` })
  await bench.call(terminal, { command: "rm -r ../d" })
  expect(await bench.call(terminal, { command: "pwd" })).toEqual({
    output: workdir,
    exit_code: 0,
    error: null,
    cwd_note: `The working directory ${workdir}/d no longer exists; the command ran in ${workdir}.`,
  })
})

test("5 MB keep exactly the first 20 000 and the last 30 000 characters", async () => {
  await using bench = await toolBench()
  const command = "printf 'a%.0s' {1..20000}; head -c 4950000 /dev/zero | tr '\\0' b; printf 'c%.0s' {1..30000}"
  expect(await bench.call(terminal, { command })).toEqual({
    output: `${"a".repeat(20_000)}\n\n[... 4950000 of 5000000 characters left out ...]\n\n${"c".repeat(30_000)}`,
    exit_code: 0,
    error: null,
  })
})

test("a program can run in a pseudo-terminal", async () => {
  await using bench = await toolBench()
  expect(await bench.call(terminal, { command: "test -t 1 && echo yes; exit 2", pty: true })).toEqual({
    output: "yes",
    exit_code: 2,
    error: null,
  })
  expect(await bench.call(terminal, { command: "echo a; sleep 60", pty: true, timeout: 1 })).toEqual({
    output: "a\n[Command timed out after 1s]",
    exit_code: 124,
    error: null,
  })
  const stop = new AbortController()
  const progress = (): void => {
    stop.abort()
  }
  const command = "trap '' TERM; echo b; while :; do sleep 0.1; done"
  expect(await bench.call(terminal, { command, pty: true }, { signal: stop.signal, progress })).toEqual({
    output: "b\n[Command interrupted]",
    exit_code: 130,
    error: null,
  })
  expect(await bench.call(terminal, { command: "true", pty: true, workdir: "/" })).toMatchObject({ exit_code: 0 })
})

test("an unreachable workspace is retried after 2, 4 and 8 seconds; a failing command is not", async () => {
  await using bench = await toolBench()
  const waits: number[] = []
  const clock = {
    now: () => 0,
    sleep: (ms: number) => {
      waits.push(ms)
      return Promise.resolve()
    },
  }
  let tries = 0
  const lost: CommandExit = {
    how: "failed-to-start",
    code: -1,
    error: "gone",
    unreachable: true,
    output: "",
    omittedChars: 0,
  }
  const workspace: Workspace = {
    ...bench.workspace,
    run: (command, options) => {
      tries += 1
      const there = bench.workspace.run(command, options)
      return tries < 4 ? { output: there.output, exit: there.exit.then(() => lost) } : there
    },
  }
  expect(await bench.call(terminal, { command: "exit 1" }, { workspace, clock })).toMatchObject({ exit_code: 1 })
  expect([waits, tries]).toEqual([[2000, 4000, 8000], 4])
  tries = -10
  expect(await bench.call(terminal, { command: "true" }, { workspace, clock })).toMatchObject({
    error: "the command was not run: gone",
  })
})

test("in the background: notifications and ignored options", async () => {
  await using bench = await toolBench()
  await using background = await processBench(bench)
  const { ports } = background
  const started = { output: "Background process started", session_id: "proc_1", pid: expect.any(Number) as number }
  expect(await bench.call(terminal, { command: "sleep 300", background: true }, { ports })).toEqual({
    ...started,
    exit_code: 0,
    error: null,
    hint: "You will not be notified when it ends: use process poll or wait, or set notify_on_complete next time.",
  })
  const both = { background: true, notify_on_complete: true, watch_patterns: ["x"] }
  expect(await bench.call(terminal, { command: "npm start", ...both }, { ports })).toMatchObject({
    notify_on_complete: true,
    watch_patterns_ignored: "watch_patterns cannot be combined with notify_on_complete and were ignored",
  })
  expect(
    await bench.call(terminal, { command: "sleep 300", background: true, watch_patterns: ["x"] }, { ports }),
  ).toMatchObject({ watch_patterns: ["x"] })
  expect(await bench.call(terminal, { command: "true", background: true })).toMatchObject({
    error: "the command was not run: background processes are not available here; run it without background",
  })
  expect(await bench.call(terminal, { command: "x", background: true, workdir: "no" }, { ports })).toMatchObject({
    error: "the command was not run: the working directory no does not exist",
  })
})

test("live output comes in complete lines, and a very long line in large pieces", async () => {
  async function* chunks(...texts: readonly string[]): AsyncGenerator<string, void, void> {
    yield* texts
  }
  const pieces = async (...texts: readonly string[]): Promise<readonly string[]> =>
    await Array.fromAsync(bufferLines(chunks(...texts)))
  expect(await pieces("a", "b\nc", "\rd", "e")).toEqual(["ab\n", "c\r", "de"])
  expect((await pieces("x".repeat(5000), "x".repeat(5000), "y")).map(({ length }) => length)).toEqual([10_000, 1])
})
