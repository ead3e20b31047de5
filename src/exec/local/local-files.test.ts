import { chmod, lstat, mkdir, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect, test } from "vitest"
import { makePipe } from "../../../test/fixtures/tools/make-pipe.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createLocalFiles } from "./local-files.ts"

const filesOf = (place: { workdir: string; userHome: string }) =>
  createLocalFiles({ cwd: () => place.workdir, userHome: place.userHome })

test("paths are absolute and normalised; ~ is the account's home", async () => {
  await using place = await temporaryHome()
  const files = filesOf(place)
  expect(["a/../b", "~", "~/x", "~x", "/a//b/", "-rf", "a b\n'c"].map((path) => files.resolve(path))).toEqual([
    join(place.workdir, "b"),
    place.userHome,
    join(place.userHome, "x"),
    join(place.workdir, "~x"),
    "/a/b",
    join(place.workdir, "-rf"),
    join(place.workdir, "a b\n'c"),
  ])
})

test("a file is written whole with its parents, follows a link and keeps its bits", async () => {
  await using place = await temporaryHome()
  const files = filesOf(place)
  expect(await files.write("new/deep/file", "é")).toEqual({
    bytes: 2,
    path: join(place.workdir, "new/deep/file"),
    createdDirectories: true,
  })
  const real = join(place.workdir, "real")
  await writeFile(real, "old")
  await chmod(real, 0o755)
  await symlink("real", join(place.workdir, "link"))
  await files.write("link", "new")
  expect([await readFile(real, "utf8"), (await stat(real)).mode & 0o777]).toEqual(["new", 0o755])
  expect((await lstat(join(place.workdir, "link"))).isSymbolicLink()).toBe(true)
})

test.runIf(process.platform === "linux")(
  "a place where no folder can be made is refused and not waited for",
  async () => {
    await using place = await temporaryHome()
    await expect(filesOf(place).write("/proc/nowhere/deep/file", "x")).rejects.toThrow("ENOENT")
  },
)

test("a write that fails takes the directories along that were made for it", async () => {
  await using place = await temporaryHome({ workFiles: { "old/file": "" } })
  const module = join(import.meta.dirname, "local-files.ts")
  const script = `
    import { createLocalFiles } from ${JSON.stringify(module)}
    const files = createLocalFiles({ cwd: () => ${JSON.stringify(place.workdir)}, userHome: "/" })
    await files.write("old/new/deep/file", "x").catch((error) => process.stdout.write(error.code))
  `
  const words = ["-c", `ulimit -f 0; exec "$@"`, "sh", process.execPath, "--input-type=module", "-e", script]
  expect(spawnSync("/bin/sh", words, { encoding: "utf8" }).stdout).toBe("EFBIG")
  await expect(filesOf(place).rename("missing", "old/new/deep/file")).rejects.toThrow("ENOENT")
  expect(await readdir(join(place.workdir, "old"))).toEqual(["file"])
})

test("a NUL in a path is told in our words, whatever is asked", async () => {
  await using place = await temporaryHome({ workFiles: { a: "" } })
  const files = filesOf(place)
  const answers = await Promise.allSettled([
    files.stat("a\0"),
    files.read("a\0"),
    files.readRange?.("a\0", { start: 0, length: 1 }),
    files.write("new/a\0", ""),
    files.list("a\0"),
    files.remove("a\0"),
    files.rename("a", "new/a\0"),
    files.realPath("a\0"),
  ])
  const words = answers.map((answer) => (answer.status === "rejected" ? String(answer.reason) : "done"))
  expect(new Set(words)).toEqual(new Set(["Error: a path cannot contain a NUL character"]))
  expect(await readdir(place.workdir)).toEqual(["a"])
})

test("a new file gets what the umask leaves", async () => {
  await using place = await temporaryHome()
  const previous = process.umask(0o077)
  try {
    await filesOf(place).write("private", "x")
  } finally {
    process.umask(previous)
  }
  expect((await stat(join(place.workdir, "private"))).mode & 0o777).toBe(0o600)
})

test("a pipe is neither read, which would hang, nor replaced", async () => {
  await using place = await temporaryHome()
  const files = filesOf(place)
  await makePipe(join(place.workdir, "pipe"))
  expect((await files.stat("pipe"))?.kind).toBe("other")
  await expect(files.read("pipe")).rejects.toThrow("not a regular file")
  await expect(files.write("pipe", "x")).rejects.toThrow("not a regular file")
  expect((await lstat(join(place.workdir, "pipe"))).isFIFO()).toBe(true)
})

test("the real path of what does not exist yet is where a write would arrive", async () => {
  await using place = await temporaryHome()
  const files = filesOf(place)
  const elsewhere = join(place.userHome, "elsewhere")
  await mkdir(elsewhere)
  await symlink(elsewhere, join(place.workdir, "dir"))
  await symlink(join(elsewhere, "not-yet"), join(place.workdir, "dangling"))
  await symlink("dangling", join(place.workdir, "chain"))
  await symlink("loop", join(place.workdir, "loop"))
  expect(await Promise.all(["dir/new/file", "dangling", "chain"].map((path) => files.realPath(path)))).toEqual([
    join(elsewhere, "new/file"),
    join(elsewhere, "not-yet"),
    join(elsewhere, "not-yet"),
  ])
  await expect(files.realPath("loop")).rejects.toThrow("ELOOP")
})

test("a missing file has no facts, also below a file", async () => {
  await using place = await temporaryHome({ workFiles: { file: "x" } })
  const files = filesOf(place)
  expect([await files.stat("no"), await files.stat("file/below"), (await files.stat("file"))?.size]).toEqual([
    undefined,
    undefined,
    1,
  ])
  expect(await files.list(".")).toEqual([{ name: "file", kind: "file" }])
})

test("a directory for results belongs to us alone", async () => {
  await using place = await temporaryHome()
  const path = await filesOf(place).temporaryDirectory()
  const found = await stat(path)
  expect([found.isDirectory(), found.uid, found.mode & 0o077]).toEqual([true, process.getuid?.(), 0])
})

test("a part of a file is read where it lies, and ends with the file", async () => {
  await using place = await temporaryHome({ workFiles: { f: "0123456789" } })
  const files = filesOf(place)
  const part = async (start: number, length: number): Promise<string> =>
    Buffer.from(await files.readRange!("f", { start, length })).toString()
  expect([await part(0, 4), await part(8, 4), await part(20, 4), await part(3, 0)]).toEqual(["0123", "89", "", ""])
  await makePipe(join(place.workdir, "pipe"))
  await expect(files.readRange!("pipe", { start: 0, length: 1 })).rejects.toThrow("not a regular file")
})

test("one file or link is removed, never a directory", async () => {
  await using place = await temporaryHome({ workFiles: { f: "x", "d/x": "x" } })
  const files = filesOf(place)
  await symlink("f", join(place.workdir, "link"))
  await files.remove("link")
  expect((await readdir(place.workdir)).toSorted()).toEqual(["d", "f"])
  await files.remove("f")
  await expect(files.remove("d")).rejects.toThrow(/EISDIR|EPERM/)
  await expect(files.remove("f")).rejects.toThrow("ENOENT")
  expect(await readdir(place.workdir)).toEqual(["d"])
})

test("a file moves with its content and bits into a new directory, and never onto another", async () => {
  await using place = await temporaryHome({ workFiles: { a: "a", b: "b" } })
  const files = filesOf(place)
  await chmod(join(place.workdir, "a"), 0o750)
  await files.rename("a", "new/deep/c")
  const moved = join(place.workdir, "new/deep/c")
  expect([await readFile(moved, "utf8"), (await stat(moved)).mode & 0o777]).toEqual(["a", 0o750])
  await expect(files.rename("b", "new/deep/c")).rejects.toThrow("EEXIST")
  await expect(files.rename("missing", "x")).rejects.toThrow("ENOENT")
  expect([await readFile(moved, "utf8"), (await readdir(place.workdir)).toSorted()]).toEqual(["a", ["b", "new"]])
})
