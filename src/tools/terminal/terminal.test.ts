import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { toolBench } from "../../../test/fixtures/tools/tool-context.ts"
import { terminal } from "./terminal.ts"
import { wholeLines } from "./whole-lines.ts"
import { forbiddenCharacter } from "./workdir.ts"

test("output, exit code and meaning; colours are removed", async () => {
  await using bench = await toolBench({ workFiles: { f: "x\n" } })
  expect(await bench.result(terminal, { command: String.raw`printf '\033[31mred\033[0m\n\n'; exit 3` })).toEqual({
    content: { output: "red", exit_code: 3, error: null },
    summary: "exit code 3",
    exitCode: 3,
  })
  expect(await bench.call(terminal, { command: "grep no f" })).toEqual({
    output: "",
    exit_code: 1,
    error: null,
    exit_code_meaning: "no matches were found (not an error)",
  })
})

test("a time-out and an interrupt keep what was said", async () => {
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
  await writeFile(join(bench.place.workdir, "s.mjs"), script)
  expect(await bench.call(terminal, { command: "node s.mjs" })).toEqual({
    output: `${"a".repeat(20_000)}\n\n[... 10000 of 60000 characters left out ...]\n\n${"c".repeat(30_000)}`,
    exit_code: 0,
    error: null,
  })
})

test("secrets reach neither the result nor the live output, even in two pieces", async () => {
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
  const error = `the command could not be started: workdir contains ${named}, which is not allowed there`
  expect(await bench.call(terminal, { command: "pwd", workdir })).toEqual({ output: "", exit_code: -1, error })
})

test.each(["/tmp/x", "/a b/c", "~/p", String.raw`C:\x`, "/é", "/e\u0301"])("a workdir %j may be used", (workdir) => {
  expect(forbiddenCharacter(workdir)).toBeUndefined()
})

test("a workdir counts from the working directory; one that is missing or a file is explained", async () => {
  await using bench = await toolBench({ workFiles: { f: "x" } })
  await mkdir(join(bench.place.workdir, "a b"))
  expect(await bench.call(terminal, { command: "pwd", workdir: "a b" })).toMatchObject({
    output: join(bench.place.workdir, "a b"),
  })
  expect(await bench.call(terminal, { command: "pwd", workdir: "no" })).toMatchObject({
    error: "the command could not be started: the working directory no does not exist",
  })
  expect(await bench.call(terminal, { command: "pwd", workdir: "f" })).toMatchObject({
    error: "the command could not be started: the working directory f is not a directory",
  })
})

test.each([
  [{ command: "" }, "`command` must not be empty"],
  [{}, "`command` is required"],
  [{ command: "x", timeout: 601 }, "`timeout` must be at most 600"],
  [{ command: "x", timeout: 0 }, "`timeout` must be at least 1"],
])("arguments %j are refused", async (args, reason) => {
  await using bench = await toolBench()
  await expect(bench.call(terminal, args)).rejects.toThrow(reason)
})

test("live output comes in whole lines, and a line that never ends in large pieces", async () => {
  async function* chunks(...texts: readonly string[]): AsyncGenerator<string, void, void> {
    yield* texts
  }
  const pieces = async (...texts: readonly string[]): Promise<readonly string[]> =>
    await Array.fromAsync(wholeLines(chunks(...texts)))
  expect(await pieces("a", "b\nc", "\rd", "e")).toEqual(["ab\n", "c\r", "de"])
  expect((await pieces("x".repeat(5000), "x".repeat(5000), "y")).map(({ length }) => length)).toEqual([10_000, 1])
})
