import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createNamedPipe } from "../../../test/fixtures/tools/named-pipe.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLocalFiles } from "./local-files.ts"
import { NOT_LINUX, titleWithReason } from "../../../test/support/skip-reason.ts"

const filesOf = (home: { workdir: string; userHome: string }) =>
  createLocalFiles({ cwd: () => home.workdir, userHome: home.userHome })

test("resolve returns absolute, normalised paths with ~ expanded", async () => {
  await using home = await temporaryHome()
  const files = filesOf(home)
  expect(["a/../b", "~", "~/x", "~x", "/a//b/", "-rf", "a b\n'c"].map((path) => files.resolve(path))).toEqual([
    join(home.workdir, "b"),
    home.userHome,
    join(home.userHome, "x"),
    join(home.workdir, "~x"),
    "/a/b",
    join(home.workdir, "-rf"),
    join(home.workdir, "a b\n'c"),
  ])
})

test("write creates parent directories, follows a link and keeps the mode", async () => {
  await using home = await temporaryHome()
  const files = filesOf(home)
  expect(await files.write("new/deep/file", "é")).toEqual({
    bytes: 2,
    path: join(home.workdir, "new/deep/file"),
    createdDirectories: true,
  })
  const real = join(home.workdir, "real")
  await writeFile(real, "old")
  await chmod(real, 0o755)
  await symlink("real", join(home.workdir, "link"))
  await files.write("link", "new")
  expect([await readFile(real, "utf8"), (await stat(real)).mode & 0o777]).toEqual(["new", 0o755])
  expect((await lstat(join(home.workdir, "link"))).isSymbolicLink()).toBe(true)
})

test.skipIf(NOT_LINUX !== undefined)(
  titleWithReason("a write below a directory that cannot be created is rejected", NOT_LINUX),
  async () => {
    await using home = await temporaryHome()
    await expect(filesOf(home).write("/proc/nowhere/deep/file", "x")).rejects.toThrow("ENOENT")
  },
)

test("a failed write removes the directories created for it", async () => {
  await using home = await temporaryHome({ workFiles: { "old/file": "" } })
  const module = join(import.meta.dirname, "local-files.ts")
  const script = `
    import { createLocalFiles } from ${JSON.stringify(module)}
    const files = createLocalFiles({ cwd: () => ${JSON.stringify(home.workdir)}, userHome: "/" })
    await files.write("old/new/deep/file", "x").catch((error) => process.stdout.write(error.code))
  `
  const words = ["-c", `ulimit -f 0; exec "$@"`, "sh", process.execPath, "--input-type=module", "-e", script]
  expect(spawnSync("/bin/sh", words, { encoding: "utf8" }).stdout).toBe("EFBIG")
  await expect(filesOf(home).rename("missing", "old/new/deep/file")).rejects.toThrow("ENOENT")
  expect(await readdir(join(home.workdir, "old"))).toEqual(["file"])
})

test("every operation rejects a path with a NUL character", async () => {
  await using home = await temporaryHome({ workFiles: { a: "" } })
  const files = filesOf(home)
  const results = await Promise.allSettled([
    files.stat("a\0"),
    files.read("a\0"),
    files.readRange?.("a\0", { start: 0, length: 1 }),
    files.write("new/a\0", ""),
    files.list("a\0"),
    files.remove("a\0"),
    files.rename("a", "new/a\0"),
    files.realPath("a\0"),
  ])
  const errors = results.map((result) => (result.status === "rejected" ? String(result.reason) : "done"))
  expect(new Set(errors)).toEqual(new Set(["Error: a path cannot contain a NUL character"]))
  expect(await readdir(home.workdir)).toEqual(["a"])
})

test("the umask applies to a new file", async () => {
  await using home = await temporaryHome()
  const previous = process.umask(0o077)
  try {
    await filesOf(home).write("private", "x")
  } finally {
    process.umask(previous)
  }
  expect((await stat(join(home.workdir, "private"))).mode & 0o777).toBe(0o600)
})

test("a pipe is neither read, which would block, nor replaced", async () => {
  await using home = await temporaryHome()
  const files = filesOf(home)
  await createNamedPipe(join(home.workdir, "pipe"))
  expect((await files.stat("pipe"))?.kind).toBe("other")
  await expect(files.read("pipe")).rejects.toThrow("not a regular file")
  await expect(files.write("pipe", "x")).rejects.toThrow("not a regular file")
  expect((await lstat(join(home.workdir, "pipe"))).isFIFO()).toBe(true)
})

test("the real path of a missing file is where a write would arrive", async () => {
  await using home = await temporaryHome()
  const files = filesOf(home)
  const elsewhere = join(home.userHome, "elsewhere")
  await mkdir(elsewhere)
  await symlink(elsewhere, join(home.workdir, "dir"))
  await symlink(join(elsewhere, "not-yet"), join(home.workdir, "dangling"))
  await symlink("dangling", join(home.workdir, "chain"))
  await symlink("loop", join(home.workdir, "loop"))
  expect(await Promise.all(["dir/new/file", "dangling", "chain"].map((path) => files.realPath(path)))).toEqual([
    join(elsewhere, "new/file"),
    join(elsewhere, "not-yet"),
    join(elsewhere, "not-yet"),
  ])
  await expect(files.realPath("loop")).rejects.toThrow("ELOOP")
})

test("stat returns undefined for a missing file, even below a file", async () => {
  await using home = await temporaryHome({ workFiles: { file: "x" } })
  const files = filesOf(home)
  expect([await files.stat("no"), await files.stat("file/below"), (await files.stat("file"))?.size]).toEqual([
    undefined,
    undefined,
    1,
  ])
  expect(await files.list(".")).toEqual([{ name: "file", kind: "file" }])
})

test("readRange reads a part and stops at the end of the file", async () => {
  await using home = await temporaryHome({ workFiles: { f: "0123456789" } })
  const files = filesOf(home)
  const part = async (start: number, length: number): Promise<string> =>
    Buffer.from(await files.readRange!("f", { start, length })).toString()
  expect([await part(0, 4), await part(8, 4), await part(20, 4), await part(3, 0)]).toEqual(["0123", "89", "", ""])
  await createNamedPipe(join(home.workdir, "pipe"))
  await expect(files.readRange!("pipe", { start: 0, length: 1 })).rejects.toThrow("not a regular file")
})

test("remove deletes one file or link, never a directory", async () => {
  await using home = await temporaryHome({ workFiles: { f: "x", "d/x": "x" } })
  const files = filesOf(home)
  await symlink("f", join(home.workdir, "link"))
  await files.remove("link")
  expect((await readdir(home.workdir)).toSorted()).toEqual(["d", "f"])
  await files.remove("f")
  await expect(files.remove("d")).rejects.toThrow(/EISDIR|EPERM/)
  await expect(files.remove("f")).rejects.toThrow("ENOENT")
  expect(await readdir(home.workdir)).toEqual(["d"])
})

test("rename keeps content and mode, creates directories and never replaces a file", async () => {
  await using home = await temporaryHome({ workFiles: { a: "a", b: "b" } })
  const files = filesOf(home)
  await chmod(join(home.workdir, "a"), 0o750)
  await files.rename("a", "new/deep/c")
  const moved = join(home.workdir, "new/deep/c")
  expect([await readFile(moved, "utf8"), (await stat(moved)).mode & 0o777]).toEqual(["a", 0o750])
  await expect(files.rename("b", "new/deep/c")).rejects.toThrow("EEXIST")
  await expect(files.rename("missing", "x")).rejects.toThrow("ENOENT")
  expect([await readFile(moved, "utf8"), (await readdir(home.workdir)).toSorted()]).toEqual(["a", ["b", "new"]])
})
