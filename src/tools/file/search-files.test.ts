import { mkdir, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { ToolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { runProcess } from "../../../test/support/process-driver.ts"
import type { Workspace } from "../../exec/workspace.ts"
import { createFileRegistry, createFileTracker } from "./tracking/file-tracker.ts"
import { searchFiles } from "./search-files.ts"

const TREE = {
  "a.ts": "one\nneedle two\nthree\n",
  "src/b.ts": "needle\r\nneedle again\n",
  "src/c.js": "needle\n",
  "src/-dash.ts": "nothing\n",
  "sp ace/it's.ts": "needle here\n",
  ".hidden/d.ts": "needle\n",
  ".dot.ts": "needle\n",
  ".env": "needle=planted\n",
}

/** A workspace whose programs are ripgrep, grep and find of this machine, or those of BusyBox. */
async function searchedWith(program: string, { workspace, home }: ToolBench): Promise<Workspace> {
  if (program === "ripgrep") return workspace
  const without = { ...workspace, ripgrep: () => Promise.resolve(undefined) }
  if (program !== "BusyBox") return without
  const bin = join(home.userHome, "bin")
  await mkdir(bin)
  for (const name of ["grep", "find", "stat", "xargs"]) await symlink("/bin/busybox", join(bin, name))
  return { ...without, run: (command, options) => workspace.run(`PATH='${bin}':$PATH; ${command}`, options) }
}

/** The same answers are due with ripgrep and where there is none. */
describe.each(["ripgrep", "grep and find", "BusyBox"])("with %s", (program) => {
  const bench = async (workFiles: Readonly<Record<string, string>> = TREE) => {
    const made = await toolBench({ workFiles })
    const workspace = await searchedWith(program, made)
    const search = async (args: Readonly<Record<string, unknown>>): Promise<unknown> =>
      await made.call(searchFiles, args, { workspace })
    return { search, home: made.home, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() }
  }

  test("matches come in the order of files and lines, without hidden files", async () => {
    await using at = await bench()
    expect(await at.search({ pattern: "needle" })).toEqual({
      total_count: 5,
      matches: [
        { path: "a.ts", line: 2, content: "needle two" },
        { path: "sp ace/it's.ts", line: 1, content: "needle here" },
        { path: "src/b.ts", line: 1, content: "needle" },
        { path: "src/b.ts", line: 2, content: "needle again" },
        { path: "src/c.js", line: 1, content: "needle" },
      ],
      truncated: false,
    })
  })

  test("pages, counts, files and aliases", async () => {
    await using at = await bench()
    expect(await at.search({ pattern: "needle", limit: 1, offset: 1 })).toEqual({
      total_count: 5,
      matches: [{ path: "sp ace/it's.ts", line: 1, content: "needle here" }],
      truncated: true,
      hint: "more results: use offset 2",
    })
    expect(await at.search({ pattern: "needle", output_mode: "count", path: "src", target: "grep" })).toEqual({
      total_count: 3,
      counts: { "src/b.ts": 2, "src/c.js": 1 },
      truncated: false,
    })
    expect(await at.search({ pattern: "needle", output_mode: "files_only", file_glob: "*.ts" })).toEqual({
      total_count: 3,
      files: ["a.ts", "sp ace/it's.ts", "src/b.ts"],
      truncated: false,
    })
  })

  test("lines around a match are shown but not counted", async () => {
    await using at = await bench()
    expect(await at.search({ pattern: "two", context: 1 })).toEqual({
      total_count: 1,
      matches: [
        { path: "a.ts", line: 1, content: "one" },
        { path: "a.ts", line: 2, content: "needle two" },
        { path: "a.ts", line: 3, content: "three" },
      ],
      truncated: false,
    })
  })

  test("files are found by name, newest first; a glob with a slash is relative to the searched directory", async () => {
    await using at = await bench()
    await utimes(join(at.home.workdir, "src/b.ts"), 2e9, 2e9)
    await utimes(join(at.home.workdir, "a.ts"), 1e9, 1e9)
    await utimes(join(at.home.workdir, "src/-dash.ts"), 1.5e9, 1.5e9)
    await utimes(join(at.home.workdir, "sp ace/it's.ts"), 1.4e9, 1.4e9)
    expect(await at.search({ pattern: "*.ts", target: "files" })).toEqual({
      total_count: 4,
      files: ["src/b.ts", "src/-dash.ts", "sp ace/it's.ts", "a.ts"],
      truncated: false,
    })
    expect(await at.search({ pattern: "src/*.js", target: "find" })).toMatchObject({ files: ["src/c.js"] })
    expect(await at.search({ pattern: "**/c.*", target: "files", path: "src" })).toMatchObject({ files: ["src/c.js"] })
  })

  test("one file can be searched, even a hidden one or one with an unusual name", async () => {
    await using at = await bench()
    await writeFile(join(at.home.workdir, "-e"), "needle\n")
    expect(await at.search({ pattern: "needle", path: "-e" })).toMatchObject({ total_count: 1 })
    expect(await at.search({ pattern: "needle", path: ".dot.ts" })).toMatchObject({ total_count: 1 })
    expect(await at.search({ pattern: "needle", path: ".hidden" })).toMatchObject({ total_count: 1 })
  })

  test("a secret file is not found by any search", async () => {
    await using at = await bench()
    await mkdir(join(at.home.workdir, ".hermes"))
    await writeFile(join(at.home.workdir, ".hermes/auth.json"), "needle\n")
    for (const args of [{ file_glob: ".env" }, { file_glob: ".e*" }, { path: ".env" }, { path: ".hermes" }]) {
      expect(await at.search({ pattern: "needle", ...args })).toMatchObject({ total_count: 0, matches: [] })
    }
    expect(await at.search({ pattern: ".env", target: "files" })).toMatchObject({ total_count: 0, files: [] })
  })

  test("an invalid expression is an error, not an empty result", async () => {
    await using at = await bench()
    expect(await at.search({ pattern: "(" })).toEqual({ error: expect.stringMatching(/^the search failed: /) })
    expect(await at.search({ pattern: "-e" })).toMatchObject({ total_count: 0 })
    expect(await at.search({ pattern: "'; echo needle; '" })).toMatchObject({ total_count: 0 })
  })

  test("ignored files are omitted, even when a glob matches them", async () => {
    await using at = await bench({ ...TREE, ".gitignore": "c.js\n" })
    await runProcess({ command: "git", args: ["init", "-q"], cwd: at.home.workdir, env: at.home.env })
    expect(await at.search({ pattern: "*.js", target: "files" })).toMatchObject({ files: [], total_count: 0 })
    expect(await at.search({ pattern: "needle", file_glob: "*.js" })).toMatchObject({ total_count: 0 })
    expect(await at.search({ pattern: "needle", output_mode: "files_only", path: "src" })).toMatchObject({
      files: ["src/b.ts"],
    })
  })

  test("binary files are skipped, links are not followed, names may have line feeds and colons", async () => {
    await using at = await bench({ "new\nline": "needle\n", "a:1:b": "needle\n" })
    await writeFile(join(at.home.workdir, "binary"), `needle${"\0".repeat(100)}\nneedle\n`)
    await writeFile(join(at.home.userHome, "outside"), "needle\n")
    await symlink(join(at.home.userHome, "outside"), join(at.home.workdir, "link"))
    // Without NUL between them, a name and a line number cannot always be distinguished.
    const expected = program === "BusyBox" ? ["new\nline"] : ["a:1:b", "new\nline"]
    const found = (await at.search({ pattern: "needle" })) as { readonly matches: readonly { readonly path: string }[] }
    expect(found.matches.map(({ path }) => path)).toEqual(expected)
  })

  test("long lines are cut and secrets masked", async () => {
    await using at = await bench()
    await writeFile(join(at.home.workdir, "long"), `find me ${"é".repeat(900)}\nfind me planted-secret-value\n`)
    expect(await at.search({ pattern: "find me", path: "long" })).toMatchObject({
      matches: [
        { content: `find me ${"é".repeat(492)}` },
        { content: expect.not.stringContaining("planted-secret-value") },
      ],
    })
  })
})

test("a search with too much output is stopped and reported", async () => {
  await using bench = await toolBench()
  await writeFile(join(bench.home.workdir, "big"), "a line that is found, with some text behind it\n".repeat(300_000))
  const answer = await bench.call(searchFiles, { pattern: "found" })
  expect(answer).toMatchObject({ truncated: true, limit_reason: "output_limit" })
  expect((answer as { readonly matches: readonly unknown[] }).matches).toHaveLength(50)
})

test("a search that times out returns what it found", async () => {
  await using bench = await toolBench({ workFiles: TREE })
  const output = "./a.ts\x002:needle two\n./src/b.ts\x001:need"
  const workspace = {
    ...bench.workspace,
    run: () => ({
      output: (async function* () {})(),
      exit: Promise.resolve({ how: "timed-out", code: 124, output, omittedChars: 0 } as const),
    }),
  }
  expect(await bench.call(searchFiles, { pattern: "needle" }, { workspace })).toEqual({
    total_count: 1,
    matches: [{ path: "a.ts", line: 2, content: "needle two" }],
    truncated: true,
    limit_reason: "search_timeout",
  })
})

test("credentials in a home of any name are not found", async () => {
  await using bench = await toolBench({ workFiles: { "home/auth.json": "needle\n", "home/notes": "needle\n" } })
  const home = join(bench.home.workdir, "home")
  const directories = { userHome: bench.home.userHome, hermesHome: home, hermesRoot: home, profile: "default" }
  const ports = {
    files: createFileTracker({ taskId: "t", registry: createFileRegistry(), guard: true, directories }),
  }
  for (const path of [".", "home"]) {
    expect(await bench.call(searchFiles, { pattern: "needle", path }, { ports })).toMatchObject({
      matches: [{ path: "home/notes" }],
    })
  }
})

test("its definition is short", () => {
  const { name, description, parameters } = searchFiles
  expect(JSON.stringify({ name, description, parameters }).length).toBeLessThan(1300)
})

test("a missing path, a device and a process's secrets are errors", async () => {
  await using bench = await toolBench({ workFiles: TREE })
  expect(await bench.call(searchFiles, { pattern: "x", path: "scr" })).toEqual({
    error: `path not found: ${join(bench.home.workdir, "scr")}`,
  })
  expect(await bench.call(searchFiles, { pattern: "x", path: "Src" })).toEqual({
    error: `path not found: ${join(bench.home.workdir, "Src")}`,
    similar_files: ["src"],
  })
  await symlink("/proc/self/environ", join(bench.home.workdir, "environ"))
  for (const path of ["/dev/zero", "/proc/self/environ", "environ"]) {
    expect(await bench.call(searchFiles, { pattern: ".", path })).toMatchObject({ error: expect.any(String) })
  }
})

test("a configuration file of ripgrep changes nothing", async () => {
  await using bench = await toolBench({ workFiles: { ...TREE, rc: "--hidden\n" }, env: { RIPGREP_CONFIG_PATH: "rc" } })
  expect(await bench.call(searchFiles, { pattern: "needle" })).toMatchObject({ total_count: 5 })
})

test("unreadable files are reported, and the search does not fail", async () => {
  await using at = await toolBench({ workFiles: TREE })
  const workspace: Workspace = {
    ...at.workspace,
    // What ripgrep does where it was kept out of a file: it says nothing and ends with 2.
    run: (command, options) => at.workspace.run(`${command}; exit 2`, options),
  }
  const search = async (args: Readonly<Record<string, unknown>>): Promise<unknown> =>
    await at.call(searchFiles, args, { workspace })
  const _warning = "some files could not be read and were not searched"
  expect(await search({ pattern: "nowhere" })).toEqual({ total_count: 0, matches: [], truncated: false, _warning })
  expect(await search({ pattern: "nowhere", output_mode: "count" })).toEqual({
    total_count: 0,
    counts: {},
    truncated: false,
    _warning,
  })
  expect(await search({ pattern: "*.nothing", target: "files" })).toEqual({
    total_count: 0,
    files: [],
    truncated: false,
    _warning,
  })
  expect(await search({ pattern: "two", output_mode: "files_only" })).toEqual({
    total_count: 1,
    files: ["a.ts"],
    truncated: false,
    _warning,
  })
})
