import { spawnSync } from "node:child_process"
import { describe, expect, test } from "vitest"
import { toolBench } from "../../../../../test/fixtures/tools/tool-bench.ts"
import type { CommandExit, Workspace } from "../../../../exec/workspace.ts"
import { patch } from "../../patch.ts"
import { writeFile } from "../../write-file.ts"

async function lintOf(name: string, content: string, before?: string): Promise<unknown> {
  await using bench = await toolBench({ workFiles: before === undefined ? {} : { [name]: before } })
  const answer = (await bench.call(writeFile, { path: name, content })) as { readonly lint?: unknown }
  return answer.lint
}

const wrong = (output: RegExp) => ({ status: "error", output: expect.stringMatching(output) })
const fine = { status: "ok" }

/** Rust is on few machines; without its formatter the check says so. */
const HAS_RUSTFMT = spawnSync("rustfmt", ["--version"]).status === 0

describe("languages", () => {
  test.each([
    ["a.json", '{"a": 1}', fine],
    ["a.json", '{"a": 1,}', wrong(/JSON/)],
    ["tsconfig.json", "{ // comment\n}", { status: "skipped", message: "this file may have comments" }],
    ["a.yaml", "a: 1\n---\nb: [1, 2]\n", fine],
    ["a.yml", "a: [1\nb: 2", wrong(/line \d/)],
    ["a.yaml", "a: {{ value }}\n  - b", { status: "skipped", message: "this looks like a template" }],
    ["a.toml", 'a = 1\n[b]\nc = "d"\n', fine],
    ["a.toml", "a = \n", wrong(/^line 1: /)],
    ["a.js", "const a = 1\n", fine],
    ["a.js", "const a = ;\n", wrong(/^line 1: Expression expected$/)],
    ["a.js", "return 1\n", fine],
    ["a.js", "#!/usr/bin/env node\nimport a from 'b'\nawait a()\n", fine],
    ["a.js", "export const A = () => <p>x</p>\n", { status: "skipped", message: "this file seems to contain JSX" }],
    ["a.cjs", "with (a) { b() }\n", fine],
    ["a.mjs", "export const a = 1;;\nreturn 1\n", wrong(/^line 2: /)],
    ["a.ts", "enum A { B }\nnamespace C { export const d: A = 1 }\nclass E { constructor(private f: A) {} }\n", fine],
    ["a.ts", "const a: number = \n\nfunction (", wrong(/^line \d+: /)],
    ["a.mts", "import type { A } from './a.ts'\nexport type B<T extends A> = T[]\n", fine],
    ["a.py", "def f():\n    return 1\n", fine],
    ["a.py", "def f(:\n    return 1\n", wrong(/^line 1: SyntaxError: /)],
    [
      "a.rs",
      "fn main( {",
      HAS_RUSTFMT ? wrong(/^error: /) : { status: "skipped", message: "rustfmt is not usable here" },
    ],
    ["a.txt", "anything {", undefined],
  ])("%s with %j", async (name, content, lint) => {
    expect(await lintOf(name, content)).toEqual(lint)
  })
})

describe("errors that existed before", () => {
  test("an existing error is not reported, even when it moved", async () => {
    expect(await lintOf("a.json", '{\n"b": 2,\n"a": 1,}', '{"a": 1,}')).toEqual({
      status: "ok",
      message: "the syntax errors of this file existed before this change",
    })
  })

  test("a different error is reported", async () => {
    expect(await lintOf("a.py", "def f(:\n", "x = (\n")).toEqual(wrong(/^line 1: SyntaxError/))
    expect(await lintOf("a.yaml", "a: [1\nb: {c\n", "a: 1\n")).toEqual(wrong(/./))
  })

  test("patch reports by the same rule, by file for a patch of several", async () => {
    await using bench = await toolBench({ workFiles: { "a.json": '{"a": 1}', "b.json": '{"b": 1,}', c: "c" } })
    const edit = { path: "a.json", old_string: "1", new_string: "1," }
    expect(await bench.call(patch, edit)).toMatchObject({ success: true, lint: { status: "error" } })
    const both =
      '*** Update File: a.json\n-{"a": 1,}\n+{"a": 2}\n*** Update File: b.json\n-{"b": 1,}\n+{"b": 2,}\n*** Update File: c\n-c\n+d'
    expect(await bench.call(patch, { mode: "patch", patch: both })).toMatchObject({
      lint: { "a.json": fine, "b.json": { status: "ok", message: expect.stringContaining("existed before") } },
    })
  })
})

test.each([
  ["the program is missing", { how: "exited", code: 127, output: "sh: python3: not found" }],
  ["it cannot run", { how: "exited", code: 1, output: "pyenv: python3: command not found" }],
  ["it hangs", { how: "timed-out", code: 124, output: "" }],
] as const)("skipped when %s", async (_what, exit) => {
  await using bench = await toolBench()
  const ended: CommandExit = { ...exit, omittedChars: 0 }
  const workspace: Workspace = {
    ...bench.workspace,
    run: () => ({ output: (async function* () {})(), exit: Promise.resolve(ended) }),
  }
  const answer = await bench.call(writeFile, { path: "a.py", content: "x = (" }, { workspace })
  expect(answer).toMatchObject({ bytes_written: 5, lint: { status: "skipped" } })
})

test("a check leaves no file and prints no warning", async () => {
  await using bench = await toolBench()
  const warnings: string[] = []
  const listen = (warning: Error): void => {
    warnings.push(warning.message)
  }
  process.on("warning", listen)
  await bench.call(writeFile, { path: "a.py", content: "x = 1\n" })
  await bench.call(writeFile, { path: "a.ts", content: "const a: 1 = 1\n" })
  await new Promise(setImmediate)
  process.off("warning", listen)
  const names = (await bench.workspace.files.list(".")).map(({ name }) => name)
  expect([names.toSorted(), warnings]).toEqual([["a.py", "a.ts"], []])
})
