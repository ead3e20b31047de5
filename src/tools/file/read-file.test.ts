import { symlink, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createNamedPipe } from "../../../test/fixtures/tools/named-pipe.ts"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { dataUrl, testImage } from "../../../test/support/test-image.ts"
import type { FileSystem } from "../../exec/workspace.ts"
import { readFile } from "./read-file.ts"
import { createFileRegistry, createFileTracker } from "./tracking/file-tracker.ts"

const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}|line ${from + index}`).join("\n")
const file = (lines: number): string => Array.from({ length: lines }, (_, index) => `line ${index + 1}\n`).join("")

test.each([
  [{ offset: 0, limit: 0 }, numbered(1, 1)],
  [{ offset: "5", limit: "99999" }, numbered(5, 2004)],
  [{ offset: null, limit: "x" }, numbered(1, 500)],
  [{ offset: -3, limit: 10 }, numbered(1, 10)],
  [{}, numbered(1, 500)],
])("a page of %j is corrected, never refused", async (page, expected) => {
  await using bench = await toolBench({ workFiles: { f: file(2500) } })
  expect(await bench.call(readFile, { path: "f", ...page })).toMatchObject({ content: expected, total_lines: 2500 })
})

test("pages end exactly at the end of the file", async () => {
  await using bench = await toolBench({ workFiles: { f: file(10) } })
  const facts = { total_lines: 10, file_size: 71, resolved_path: join(bench.home.workdir, "f") }
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

test("for a missing file similar names are returned, even in a missing directory", async () => {
  await using bench = await toolBench({ workFiles: { "Readme.md": "x" } })
  expect(await bench.call(readFile, { path: "readme.md" })).toEqual({
    error: `file not found: ${join(bench.home.workdir, "readme.md")}`,
    similar_files: ["Readme.md"],
  })
  expect(await bench.call(readFile, { path: "no/such" })).toEqual({
    error: `file not found: ${join(bench.home.workdir, "no/such")}`,
  })
})

test("binary files are refused by name, by type or by content", async () => {
  await using bench = await toolBench({ workFiles: { "a.png": "x", "a.zip": "x", blob: "\0".repeat(100) } })
  await createNamedPipe(join(bench.home.workdir, "pipe"))
  expect(await bench.call(readFile, { path: "a.png" })).toEqual({
    error: "a.png is not a PNG, JPEG, GIF or WebP image; convert it to PNG and read that",
    is_image: true,
    file_size: 1,
    resolved_path: join(bench.home.workdir, "a.png"),
  })
  expect(await bench.call(readFile, { path: "a.zip" })).toMatchObject({ is_binary: true })
  expect(await bench.call(readFile, { path: "blob" })).toMatchObject({ is_binary: true })
  expect(await bench.call(readFile, { path: "pipe" })).toEqual({ error: "pipe is not a regular file" })
  expect(await bench.call(readFile, { path: "." })).toMatchObject({ error: expect.stringContaining("is a directory") })
})

test.each(["png", "jpeg", "webp"] as const)("a %s image is shown, independent of its extension", async (type) => {
  await using bench = await toolBench()
  const bytes = testImage({ width: 30, height: 20, type })
  await writeFile(join(bench.home.workdir, "shot.png"), bytes)
  const text = JSON.stringify({
    path: "shot.png",
    is_image: true,
    file_size: bytes.length,
    resolved_path: join(bench.home.workdir, "shot.png"),
    type: `image/${type}`,
    width: 30,
    height: 20,
  })
  expect(await bench.result(readFile, { path: "shot.png" })).toEqual({
    content: {
      _multimodal: true,
      content: [
        { type: "text", text },
        { type: "image_url", image_url: { url: dataUrl(bytes, `image/${type}`) } },
      ],
      text_summary: text,
    },
    summary: "image, 30×20",
  })
})

test("an image that is too large for the conversation is not read", async () => {
  await using bench = await toolBench({ workFiles: { "huge.png": "" } })
  await truncate(join(bench.home.workdir, "huge.png"), 20 * 1024 * 1024 + 1)
  expect(await bench.call(readFile, { path: "huge.png" })).toMatchObject({
    error: "huge.png is larger than 20 MB, the limit for images; make a smaller copy and read that",
    is_image: true,
  })
})

test("an image that is read repeatedly is refused", async () => {
  await using bench = await toolBench()
  await writeFile(join(bench.home.workdir, "a.png"), testImage({ width: 2, height: 2, type: "png" }))
  const tracker = createFileTracker({ taskId: "task", registry: createFileRegistry(), guard: true })
  const results = []
  for (let time = 1; time <= 4; time += 1) {
    results.push(await bench.result(readFile, { path: "a.png" }, { ports: { files: tracker } }))
  }
  expect(
    results.map(({ content }) => ("error" in content ? "refused" : JSON.stringify(content).includes("_warning"))),
  ).toEqual([false, false, true, "refused"])
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

test("a link to the environment of a process is refused too", async () => {
  await using bench = await toolBench()
  await symlink("/proc/self/environ", join(bench.home.workdir, "link"))
  expect(await bench.call(readFile, { path: "link" })).toEqual({
    error: expect.stringMatching(/^\/proc\/\d+\/environ .* cannot be read as a file$/),
  })
})

test("a loop of links is explained", async () => {
  await using bench = await toolBench()
  await symlink("loop", join(bench.home.workdir, "loop"))
  expect(await bench.call(readFile, { path: "loop" })).toEqual({ error: "cannot read loop: too many symbolic links" })
})

test("secrets are masked; a page inside a private key shows nothing of it", async () => {
  await using bench = await toolBench()
  const key = [
    "-----BEGIN PRIVATE KEY-----",
    ..."ABCD".split("").map((letter) => letter.repeat(64)),
    "-----END PRIVATE KEY-----",
  ]
  await writeFile(join(bench.home.workdir, "f"), ["x = 'planted-secret-value'", ...key, "end"].join("\n"))
  const whole = JSON.stringify(await bench.call(readFile, { path: "f" }))
  expect([whole.includes("planted-secret-value"), whole.includes("AAAA")]).toEqual([false, false])
  expect(await bench.call(readFile, { path: "f", offset: 4, limit: 4 })).toMatchObject({ content: "4|\n5|\n6|\n7|" })
  expect(await bench.call(readFile, { path: "f", offset: 8 })).toMatchObject({ content: "8|end" })
})

test("unusual names are ordinary names", async () => {
  const names = ["a b", "-rf", "it's", 'q"q', "new\nline", "$HOME", "*"]
  await using bench = await toolBench({ workFiles: Object.fromEntries(names.map((name) => [name, "ok"])) })
  for (const path of names) expect(await bench.call(readFile, { path })).toMatchObject({ content: "1|ok" })
  expect(await bench.call(readFile, { path: "a\0b" })).toMatchObject({ error: expect.stringMatching(/^cannot read /) })
})

test("a file of 64 MB and more is read in ranges, even beyond the first ones", async () => {
  await using bench = await toolBench()
  const path = join(bench.home.workdir, "big.log")
  await writeFile(path, Buffer.alloc(70 * 1024 * 1024, "0123456789012345678901234567890\n"))
  const total = (70 * 1024 * 1024) / 32
  const reads: number[] = []
  const { files } = bench.workspace
  const counted = {
    ...files,
    read: () => Promise.reject(new Error("the whole file must not be read")),
    readRange: async (name: string, range: { readonly start: number; readonly length: number }) => {
      reads.push(range.length)
      return await files.readRange!(name, range)
    },
  }
  const answer = await bench.call(
    readFile,
    { path: "big.log", offset: total - 1, limit: 5 },
    { workspace: { ...bench.workspace, files: counted } },
  )
  expect(answer).toMatchObject({
    content: `${total - 1}|0123456789012345678901234567890\n${total}|0123456789012345678901234567890`,
    total_lines: total,
    file_size: 70 * 1024 * 1024,
    truncated: false,
  })
  expect(Math.max(...reads)).toBeLessThanOrEqual(1024 * 1024)
})

test("a very large file is refused where only whole files can be read", async () => {
  await using bench = await toolBench({ workFiles: { f: "x" } })
  const parts = Object.entries(bench.workspace.files).filter(([name]) => name !== "readRange")
  const files = Object.fromEntries(parts) as unknown as FileSystem
  const facts = { kind: "file", size: 65 * 1024 * 1024, modifiedMs: 1, mode: 0o644 } as const
  const workspace = { ...bench.workspace, files: { ...files, stat: () => Promise.resolve(facts) } }
  expect(await bench.call(readFile, { path: "f" }, { workspace })).toEqual({
    error: expect.stringContaining("too large to read whole"),
    file_size: facts.size,
  })
})

test("UTF-16 is read, and invalid bytes are reported", async () => {
  await using bench = await toolBench()
  await writeFile(join(bench.home.workdir, "utf16"), Buffer.from("\u{FEFF}grün\r\n", "utf16le"))
  await writeFile(join(bench.home.workdir, "latin1"), Buffer.from([0x67, 0x72, 0xfc, 0x6e]))
  expect(await bench.call(readFile, { path: "utf16" })).toMatchObject({ content: "1|grün" })
  expect(await bench.call(readFile, { path: "latin1" })).toMatchObject({
    content: "1|gr\u{FFFD}n",
    _warning: expect.stringContaining("not valid UTF-8"),
  })
})

test("a key in one very long line is masked although the line is cut", async () => {
  await using bench = await toolBench()
  const key = `-----BEGIN PRIVATE KEY-----\\n${"A".repeat(3000)}\\n-----END PRIVATE KEY-----`
  await writeFile(join(bench.home.workdir, "f"), `{"key": "${key}"}\n`)
  expect(JSON.stringify(await bench.call(readFile, { path: "f" }))).not.toContain("AAAA")
})

test("an interrupt stops reading a large file", async () => {
  await using bench = await toolBench()
  await writeFile(join(bench.home.workdir, "big"), Buffer.alloc(4 * 1024 * 1024, "x\n"))
  expect(await bench.call(readFile, { path: "big" }, { signal: AbortSignal.abort() })).toEqual({
    error: expect.stringMatching(/^cannot read big: .*abort/),
  })
})

test("its definition is short", () => {
  const { name, description, parameters } = readFile
  expect(JSON.stringify({ name, description, parameters }).length).toBeLessThan(1100)
})

test("page one of a huge file counts only the lines that are quickly counted", async () => {
  await using bench = await toolBench({ workFiles: { f: file(20_000) } })
  const path = join(bench.home.workdir, "f")
  await truncate(path, 2 * 1024 ** 3)
  const { hint, ...found } = (await bench.call(readFile, { path: "f", limit: 2 })) as { readonly hint: string }
  expect(found).toEqual({ content: numbered(1, 2), file_size: 2 * 1024 ** 3, truncated: true, resolved_path: path })
  expect(hint).toBe("continue with offset 3; the file has more than 20000 lines")
})
