import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { describe, expect, test } from "vitest"
import { toolBench } from "../../../../../test/fixtures/tools/tool-bench.ts"
import { createFakeCommand } from "../../../../../test/support/fake-command.ts"
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
    expect(await lintOf("a.toml", "a = \n", "[a\n")).toEqual(wrong(/^line 1: /))
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

/** Writes a file while `program` is the given shell script, so that the programs of this machine do not matter. */
async function lintWith(program: string, script: string, name: string): Promise<unknown> {
  const directory = mkdtempSync(join(tmpdir(), "hermes-lint-"))
  try {
    const fake = createFakeCommand(directory, program, script)
    await using bench = await toolBench({ env: { PATH: [fake.directory, "/usr/bin", "/bin"].join(delimiter) } })
    return await bench.call(writeFile, { path: name, content: "x = (" })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const RUSTFMT_ERROR = "error: this file contains an unclosed delimiter\n --> <stdin>:7:11\n  |\n7 | fn main( {"

describe("checks by a program", () => {
  test.each([
    ["a.py", "python3", "<stdin>:3: SyntaxError: invalid syntax", "line 3: SyntaxError: invalid syntax"],
    ["a.go", "gofmt", "<standard input>:2:5: expected ';', found x", "line 2: expected ';', found x"],
    ["a.rs", "rustfmt", RUSTFMT_ERROR, "line 7: this file contains an unclosed delimiter"],
  ])("%s: a finding of %s is an error", async (name, program, printed, output) => {
    const stream = program === "python3" ? "" : " >&2"
    const script = `cat >/dev/null\ncat <<'END'${stream}\n${printed}\nEND\nexit 1`
    expect(await lintWith(program, script, name)).toMatchObject({ lint: { status: "error", output } })
  })

  const PROGRAMS = [
    ["a.py", "python3"],
    ["a.go", "gofmt"],
    ["a.rs", "rustfmt"],
  ] as const
  const COMPLAINTS = {
    "the program is missing": "echo 'sh: not found' >&2; exit 127",
    "rustup has no default toolchain":
      'echo "error: rustup could not choose a version of rustfmt to run, because one wasn\'t specified explicitly, and no default is configured." >&2\n' +
      "echo \"help: run 'rustup default stable' to download the latest stable release of Rust\" >&2; exit 1",
    "the component is missing":
      "echo \"error: 'rustfmt' is not installed for the toolchain 'stable-x86_64-unknown-linux-gnu'\" >&2; exit 1",
    "its settings are broken": "echo 'error: could not parse rustfmt.toml' >&2; exit 1",
    "a version manager complains": "echo 'pyenv: version 3.13 is not installed (set by .python-version:1)' >&2; exit 1",
    "pyenv finds no version with it":
      "echo 'pyenv: python3: command not found' >&2; echo; echo 'The command exists in these Python versions: 3.12.3'; exit 127",
    "goenv misses the version": "echo \"goenv: version '1.22.0' is not installed (set by .go-version)\" >&2; exit 1",
    "asdf has no version":
      "echo 'No version is set for command x' >&2; echo 'Consider adding one of the following versions in your config file at .tool-versions'; exit 126",
    "a launcher hangs up without a message": "exit 126",
    "it does not know a flag": "echo 'flag provided but not defined: -e' >&2; exit 2",
    "it crashes": "echo 'thread main panicked at src/main.rs:1:5' >&2; kill -SEGV $$",
    "it reports another file":
      "echo 'line 1: SyntaxError' >&2; echo 'error: expected item' >&2; echo ' --> src/lib.rs:1:1' >&2; exit 1",
    "it only reports formatting":
      "echo 'error[internal]: left behind trailing whitespace' >&2; echo ' --> <stdin>:1:1:5' >&2; exit 1",
    "it prints nothing": "exit 1",
  }
  describe.each(Object.entries(COMPLAINTS))("skipped when %s", (_what, script) => {
    test.each(PROGRAMS)("%s", async (name, program) => {
      expect(await lintWith(program, script, name)).toMatchObject({
        bytes_written: 5,
        lint: { status: "skipped", message: `${program} is not usable here` },
      })
    })
  })

  test("skipped when it hangs", async () => {
    await using bench = await toolBench()
    const ended: CommandExit = { how: "timed-out", code: 124, output: "", omittedChars: 0 }
    const workspace: Workspace = {
      ...bench.workspace,
      run: () => ({ output: (async function* () {})(), exit: Promise.resolve(ended) }),
    }
    const answer = await bench.call(writeFile, { path: "a.py", content: "x = (" }, { workspace })
    expect(answer).toMatchObject({ bytes_written: 5, lint: { status: "skipped" } })
  })

  test("skipped when the parser of Hermes itself fails", async () => {
    const deep = "[".repeat(200_000)
    for (const name of ["a.ts", "a.mjs"]) {
      expect(await lintOf(name, deep), name).toEqual({ status: "skipped", message: "the syntax check did not finish" })
    }
    expect(await lintOf("a.yaml", deep)).toEqual({
      status: "skipped",
      message: "this file is nested too deeply to check",
    })
  })

  test("real Python", async (context) => {
    await using bench = await toolBench()
    const probe = spawnSync("python3", ["-c", "print(f'{1}')"], { env: bench.home.env, encoding: "utf8" })
    context.skip(probe.status !== 0, "python3 is not installed, or cannot run with another home")
    const lint = async (content: string): Promise<unknown> => await bench.call(writeFile, { path: "a.py", content })
    expect(await lint("def f():\n    return 1\n")).toMatchObject({ lint: fine })
    expect(await lint("def f(:\n    return 1\n")).toMatchObject({ lint: wrong(/^line 1: SyntaxError: /) })
    expect(await lint("x = 1\0")).toMatchObject({ lint: wrong(/^line [\d?]+: /) })
  })
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
