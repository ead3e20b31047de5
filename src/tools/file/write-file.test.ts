import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmod, lstat, readFile, readdir, stat, symlink, writeFile as writeBytes } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createNamedPipe } from "../../../test/fixtures/tools/named-pipe.ts"
import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import { writeFile as writeTool } from "./write-file.ts"

test("a new file and its directories are created and reported", async () => {
  await using bench = await toolBench()
  const path = join(bench.home.workdir, "a b/ü.txt")
  expect(await bench.result(writeTool, { path: "a b/ü.txt", content: "é\n" })).toEqual({
    content: { bytes_written: 3, resolved_path: path, dirs_created: true, files_modified: [path] },
    summary: "3 bytes written to a new file",
    diff: "--- /dev/null\n+++ b/a b/ü.txt\n@@ -0,0 +1 @@\n+é\n",
    filesChanged: [path],
  })
  expect(await readFile(path, "utf8")).toBe("é\n")
})

test.each([
  ["CRLF is kept", "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"],
  ["CRLF is not doubled", "a\r\nb\r\n", "x\r\ny\n", "x\r\ny\r\n"],
  ["a byte order mark is kept", "\u{FEFF}a\n", "x\n", "\u{FEFF}x\n"],
  ["and not doubled", "\u{FEFF}a\n", "\u{FEFF}x\n", "\u{FEFF}x\n"],
  ["mostly LF stays LF", "a\nb\nc\r\n", "x\ny\n", "x\ny\n"],
  ["empty content is valid", "a\n", "", ""],
  ["dollar patterns are plain text", "a\n", "$& $1 $$\n", "$& $1 $$\n"],
])("%s", async (_what, before, content, after) => {
  await using bench = await toolBench({ workFiles: { f: before } })
  await bench.call(writeTool, { path: "f", content })
  expect(await readFile(join(bench.home.workdir, "f"), "utf8")).toBe(after)
})

test("UTF-16 stays UTF-16", async () => {
  await using bench = await toolBench()
  const path = join(bench.home.workdir, "f")
  await writeBytes(path, Buffer.from("\u{FEFF}alt\r\n", "utf16le").swap16())
  await bench.call(writeTool, { path: "f", content: "neu\n" })
  expect((await readFile(path)).swap16().toString("utf16le")).toBe("\u{FEFF}neu\r\n")
})

test("read-only documents are refused, missing and wrong arguments are named", async () => {
  await using bench = await toolBench()
  for (const path of ["a.ipynb", "a.docx", "a.xlsx"]) {
    expect(await bench.call(writeTool, { path, content: "x" })).toEqual({
      error: expect.stringContaining("with a script"),
    })
  }
  const errors = [{ path: "f" }, { content: "x" }, { path: "f", content: ["x"] }].map((args) =>
    writeTool.runnable.parse(args),
  )
  expect(errors).toEqual([
    { ok: false, error: "write_file was not run: `content` is required." },
    { ok: false, error: "write_file was not run: `path` is required." },
    { ok: false, error: "write_file was not run: `content` must be a string, not an array." },
  ])
  expect(await readdir(bench.home.workdir)).toEqual([])
})

test("mode bits and a link are kept", async () => {
  await using bench = await toolBench({ workFiles: { real: "old" } })
  const real = join(bench.home.workdir, "real")
  await chmod(real, 0o755)
  await symlink("real", join(bench.home.workdir, "link"))
  await bench.call(writeTool, { path: "link", content: "new" })
  expect([await readFile(real, "utf8"), (await stat(real)).mode & 0o777]).toEqual(["new", 0o755])
})

test("directories, pipes and devices are refused and not changed", async () => {
  await using bench = await toolBench({ workFiles: { "d/f": "x" } })
  const pipe = join(bench.home.workdir, "pipe")
  await createNamedPipe(pipe)
  for (const path of ["d", "d/", "new/", "pipe", "/dev/null"]) {
    expect(await bench.call(writeTool, { path, content: "x" })).toEqual({ error: expect.any(String) })
  }
  expect([(await lstat(pipe)).isFIFO(), (await lstat("/dev/null")).isCharacterDevice()]).toEqual([true, true])
  expect((await readdir(bench.home.workdir)).toSorted()).toEqual(["d", "pipe"])
})

test("a parent that is a file is explained, and it stays", async () => {
  await using bench = await toolBench({ workFiles: { f: "x" } })
  expect(await bench.call(writeTool, { path: "f/below", content: "y" })).toEqual({
    error: expect.stringMatching(/^cannot write f\/below: .*; nothing was changed$/),
  })
  expect(await readFile(join(bench.home.workdir, "f"), "utf8")).toBe("x")
})

test("a full disk leaves the old file and names the reason", async () => {
  await using bench = await toolBench({ workFiles: { f: "old" } })
  const { files } = bench.workspace
  const full = {
    ...bench.workspace,
    files: { ...files, write: () => Promise.reject(Object.assign(new Error("x"), { code: "ENOSPC" })) },
  }
  expect(await bench.call(writeTool, { path: "f", content: "new" }, { workspace: full })).toEqual({
    error: "cannot write f: no space left on the disk; nothing was changed",
  })
})

test("lone surrogates are replaced before they are written", async () => {
  await using bench = await toolBench()
  await bench.call(writeTool, { path: "f", content: "a\uD83D" })
  expect(await readFile(join(bench.home.workdir, "f"), "utf8")).toBe("a\uFFFD")
})

test("a killed process leaves the complete old file", async () => {
  await using bench = await toolBench({ workFiles: { f: "old" } })
  const path = join(bench.home.workdir, "f")
  const module = join(import.meta.dirname, "../../exec/local/local-files.ts")
  const script = `
    import { createLocalFiles } from ${JSON.stringify(module)}
    const files = createLocalFiles({ cwd: () => "/", userHome: "/" })
    process.stdout.write("go")
    for (;;) await files.write(${JSON.stringify(path)}, "new".repeat(1_000_000))
  `
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "ignore"] })
  await once(child.stdout, "data")
  child.kill("SIGKILL")
  await once(child, "exit")
  expect(["old", "new".repeat(1_000_000)]).toContain(await readFile(path, "utf8"))
})

test("its definition is short", () => {
  const { name, description, parameters } = writeTool
  expect(JSON.stringify({ name, description, parameters }).length).toBeLessThan(1100)
})
