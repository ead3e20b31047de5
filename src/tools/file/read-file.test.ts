import { symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { makePipe } from "../../../test/fixtures/tools/make-pipe.ts"
import { toolBench } from "../../../test/fixtures/tools/tool-context.ts"
import { readFile } from "./read-file.ts"

const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}|line ${from + index}`).join("\n")
const file = (lines: number): string => Array.from({ length: lines }, (_, index) => `line ${index + 1}\n`).join("")

test.each([
  [{ offset: 0, limit: 0 }, numbered(1, 1)],
  [{ offset: "5", limit: "99999" }, numbered(5, 2004)],
  [{ offset: null, limit: "x" }, numbered(1, 500)],
  [{ offset: -3, limit: 10 }, numbered(1, 10)],
  [{}, numbered(1, 500)],
])("a page of %j is put right, never refused", async (page, expected) => {
  await using bench = await toolBench({ workFiles: { f: file(2500) } })
  expect(await bench.call(readFile, { path: "f", ...page })).toMatchObject({ content: expected, total_lines: 2500 })
})

test("pages end exactly at the end of the file", async () => {
  await using bench = await toolBench({ workFiles: { f: file(10) } })
  const facts = { total_lines: 10, file_size: 71, resolved_path: join(bench.place.workdir, "f") }
  expect(await bench.call(readFile, { path: "f", offset: 6, limit: 5 })).toEqual({
    ...facts,
    content: numbered(6, 10),
    truncated: false,
  })
  expect(await bench.call(readFile, { path: "f", offset: 6, limit: 4 })).toEqual({
    ...facts,
    content: numbered(6, 9),
    truncated: true,
    hint: "continue with offset 10",
  })
  expect(await bench.call(readFile, { path: "f", offset: 11 })).toEqual({
    ...facts,
    content: "",
    truncated: false,
    hint: "the file has 10 lines; offset 11 is past its end",
  })
})

test("byte order mark, CRLF, long lines, a missing final newline and an empty file", async () => {
  await using bench = await toolBench({
    workFiles: { bom: "\u{FEFF}a\r\nb", long: `${"é".repeat(2001)}\n${"x".repeat(2000)}`, empty: "" },
  })
  expect(await bench.call(readFile, { path: "bom" })).toMatchObject({ content: "1|a\n2|b", total_lines: 2 })
  expect(await bench.call(readFile, { path: "long" })).toMatchObject({
    content: `1|${"é".repeat(2000)}... [truncated]\n2|${"x".repeat(2000)}`,
  })
  expect(await bench.call(readFile, { path: "empty" })).toMatchObject({ content: "", hint: "the file is empty" })
})

test("a page that is too long is refused with advice", async () => {
  await using bench = await toolBench({ workFiles: { f: `${"x".repeat(1500)}\n`.repeat(100) } })
  expect(await bench.call(readFile, { path: "f" })).toEqual({
    error: expect.stringMatching(/150391 characters.*use a smaller limit/),
    path: "f",
    total_lines: 100,
    file_size: 150_100,
  })
})

test("a large file that was cut advises a search", async () => {
  await using bench = await toolBench({ workFiles: { f: "some words here\n".repeat(40_000) } })
  expect(await bench.call(readFile, { path: "f", limit: 500 })).toMatchObject({
    _hint: expect.stringContaining("search_files"),
  })
})

test("a missing file is answered with similar names, also in a missing directory", async () => {
  await using bench = await toolBench({ workFiles: { "Readme.md": "x" } })
  expect(await bench.call(readFile, { path: "readme.md" })).toEqual({
    error: `file not found: ${join(bench.place.workdir, "readme.md")}`,
    similar_files: ["Readme.md"],
  })
  expect(await bench.call(readFile, { path: "no/such" })).toEqual({
    error: `file not found: ${join(bench.place.workdir, "no/such")}`,
  })
})

test("what is no text is refused by name, by kind or by content", async () => {
  await using bench = await toolBench({ workFiles: { "a.png": "x", "a.zip": "x", blob: "\0".repeat(100) } })
  await makePipe(join(bench.place.workdir, "pipe"))
  expect(await bench.call(readFile, { path: "a.png" })).toMatchObject({ is_image: true })
  expect(await bench.call(readFile, { path: "a.zip" })).toMatchObject({ is_binary: true })
  expect(await bench.call(readFile, { path: "blob" })).toMatchObject({ is_binary: true })
  expect(await bench.call(readFile, { path: "pipe" })).toEqual({ error: "pipe is not a regular file" })
  expect(await bench.call(readFile, { path: "." })).toMatchObject({ error: expect.stringContaining("is a directory") })
})

test.each([
  "/dev/zero",
  "/dev/stdin",
  "/dev/fd/0",
  "/proc/self/environ",
  "/proc/1/task/1/environ",
  "/proc/thread-self/mem",
])("%s is refused", async (path) => {
  await using bench = await toolBench()
  expect(await bench.call(readFile, { path })).toEqual({ error: expect.stringContaining("cannot be read as a file") })
})

test("a link to the environment of a process is refused like the thing itself", async () => {
  await using bench = await toolBench()
  await symlink("/proc/self/environ", join(bench.place.workdir, "link"))
  expect(await bench.call(readFile, { path: "link" })).toEqual({
    error: expect.stringMatching(/^\/proc\/\d+\/environ .* cannot be read as a file$/),
  })
})

test("a loop of links is explained", async () => {
  await using bench = await toolBench()
  await symlink("loop", join(bench.place.workdir, "loop"))
  expect(await bench.call(readFile, { path: "loop" })).toEqual({ error: "cannot read loop: too many symbolic links" })
})

test("secrets are masked; a page inside a private key shows nothing of it", async () => {
  await using bench = await toolBench()
  const key = [
    "-----BEGIN PRIVATE KEY-----",
    ..."ABCD".split("").map((letter) => letter.repeat(64)),
    "-----END PRIVATE KEY-----",
  ]
  await writeFile(join(bench.place.workdir, "f"), ["x = 'planted-secret-value'", ...key, "end"].join("\n"))
  const whole = JSON.stringify(await bench.call(readFile, { path: "f" }))
  expect([whole.includes("planted-secret-value"), whole.includes("AAAA")]).toEqual([false, false])
  expect(await bench.call(readFile, { path: "f", offset: 4, limit: 4 })).toMatchObject({ content: "4|\n5|\n6|\n7|" })
  expect(await bench.call(readFile, { path: "f", offset: 8 })).toMatchObject({ content: "8|end" })
})

test("odd names are ordinary names", async () => {
  const names = ["a b", "-rf", "it's", 'q"q', "new\nline", "$HOME", "*"]
  await using bench = await toolBench({ workFiles: Object.fromEntries(names.map((name) => [name, "ok"])) })
  for (const path of names) expect(await bench.call(readFile, { path })).toMatchObject({ content: "1|ok" })
  expect(await bench.call(readFile, { path: "a\0b" })).toMatchObject({ error: expect.stringMatching(/^cannot read /) })
})
