import { mkdir, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { toolBench } from "../../../test/fixtures/tools/tool-context.ts"
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

/** The same answers are due with ripgrep and where there is none. */
describe.each(["ripgrep", "grep and find"])("with %s", (program) => {
  const bench = async () => {
    const made = await toolBench({ workFiles: TREE })
    const workspace =
      program === "ripgrep" ? made.workspace : { ...made.workspace, ripgrep: () => Promise.resolve(undefined) }
    const search = async (args: Readonly<Record<string, unknown>>): Promise<unknown> =>
      await made.call(searchFiles, args, { workspace })
    return { search, place: made.place, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() }
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

  test("files are found by name, newest first; a glob with a slash counts from the place of the search", async () => {
    await using at = await bench()
    await utimes(join(at.place.workdir, "src/b.ts"), 2e9, 2e9)
    await utimes(join(at.place.workdir, "a.ts"), 1e9, 1e9)
    await utimes(join(at.place.workdir, "src/-dash.ts"), 1.5e9, 1.5e9)
    await utimes(join(at.place.workdir, "sp ace/it's.ts"), 1.4e9, 1.4e9)
    expect(await at.search({ pattern: "*.ts", target: "files" })).toEqual({
      total_count: 4,
      files: ["src/b.ts", "src/-dash.ts", "sp ace/it's.ts", "a.ts"],
      truncated: false,
    })
    expect(await at.search({ pattern: "src/*.js", target: "find" })).toMatchObject({ files: ["src/c.js"] })
    expect(await at.search({ pattern: "**/c.*", target: "files", path: "src" })).toMatchObject({ files: ["src/c.js"] })
  })

  test("one file can be searched, also a hidden one and one with an odd name", async () => {
    await using at = await bench()
    await writeFile(join(at.place.workdir, "-e"), "needle\n")
    expect(await at.search({ pattern: "needle", path: "-e" })).toMatchObject({ total_count: 1 })
    expect(await at.search({ pattern: "needle", path: ".dot.ts" })).toMatchObject({ total_count: 1 })
    expect(await at.search({ pattern: "needle", path: ".hidden" })).toMatchObject({ total_count: 1 })
  })

  test("a secret file is not found, however it is asked for", async () => {
    await using at = await bench()
    await mkdir(join(at.place.workdir, ".hermes"))
    await writeFile(join(at.place.workdir, ".hermes/auth.json"), "needle\n")
    for (const args of [{ file_glob: ".env" }, { file_glob: ".e*" }, { path: ".env" }, { path: ".hermes" }]) {
      expect(await at.search({ pattern: "needle", ...args })).toMatchObject({ total_count: 0, matches: [] })
    }
    expect(await at.search({ pattern: ".env", target: "files" })).toMatchObject({ total_count: 0, files: [] })
  })

  test("a bad expression is an error, not an empty answer", async () => {
    await using at = await bench()
    expect(await at.search({ pattern: "(" })).toEqual({ error: expect.stringMatching(/^the search failed: /) })
    expect(await at.search({ pattern: "-e" })).toMatchObject({ total_count: 0 })
    expect(await at.search({ pattern: "'; echo needle; '" })).toMatchObject({ total_count: 0 })
  })

  test("long lines are cut and secrets masked", async () => {
    await using at = await bench()
    await writeFile(join(at.place.workdir, "long"), `find me ${"é".repeat(900)}\nfind me planted-secret-value\n`)
    expect(await at.search({ pattern: "find me", path: "long" })).toMatchObject({
      matches: [
        { content: `find me ${"é".repeat(492)}` },
        { content: expect.not.stringContaining("planted-secret-value") },
      ],
    })
  })
})

test("ignored files are left out, also when a glob names them", async () => {
  await using bench = await toolBench({ workFiles: { ...TREE, ".gitignore": "c.js\n", ".git/HEAD": "" } })
  expect(await bench.call(searchFiles, { pattern: "*.js", target: "files" })).toMatchObject({ files: [] })
  expect(await bench.call(searchFiles, { pattern: "needle", file_glob: "*.js" })).toMatchObject({ total_count: 0 })
})

test("a missing place, a device and a process's secrets are answered", async () => {
  await using bench = await toolBench({ workFiles: TREE })
  expect(await bench.call(searchFiles, { pattern: "x", path: "scr" })).toEqual({ error: "path not found: scr" })
  expect(await bench.call(searchFiles, { pattern: "x", path: "Src" })).toEqual({
    error: "path not found: Src",
    similar_files: ["src"],
  })
  await symlink("/proc/self/environ", join(bench.place.workdir, "environ"))
  for (const path of ["/dev/zero", "/proc/self/environ", "environ"]) {
    expect(await bench.call(searchFiles, { pattern: ".", path })).toMatchObject({ error: expect.any(String) })
  }
})

test("a configuration file of ripgrep changes nothing", async () => {
  await using bench = await toolBench({ workFiles: { ...TREE, rc: "--hidden\n" }, env: { RIPGREP_CONFIG_PATH: "rc" } })
  expect(await bench.call(searchFiles, { pattern: "needle" })).toMatchObject({ total_count: 5 })
})
