import { spawnSync } from "node:child_process"
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { errorCode } from "../base/system-error.ts"
import { createShellFiles } from "./shell-files.ts"
import type { FileSystem } from "./workspace.ts"

/** Runs the scripts in a local shell; `change` may corrupt the input on its way. */
function filesOf(folder: string, change: (stdin: Uint8Array) => Uint8Array = (stdin) => stdin): FileSystem {
  return createShellFiles({
    cwd: () => folder,
    home: folder,
    maxInputBytes: 1000,
    runScript: (script, args, stdin) => {
      const result = spawnSync("sh", ["-c", script, "hermes", ...args], { input: change(stdin ?? new Uint8Array()) })
      return Promise.resolve({ failed: result.status !== 0, stdout: result.stdout, stderr: result.stderr.toString() })
    },
  })
}

test("data longer than one call is sent in parts and replaces the file once", async () => {
  await using home = await temporaryHome()
  const data = Buffer.from(Array.from({ length: 4321 }, (_, index) => index % 256))
  expect(await filesOf(home.workdir).write("a/b", data)).toEqual({
    bytes: 4321,
    path: join(home.workdir, "a/b"),
    createdDirectories: true,
    facts: await filesOf(home.workdir).stat("a/b"),
  })
  expect((await readFile(join(home.workdir, "a/b"))).equals(data)).toBe(true)
  expect(await readdir(join(home.workdir, "a"))).toEqual(["b"])
})

test("incomplete data replaces no file and leaves none behind", async () => {
  await using home = await temporaryHome()
  await writeFile(join(home.workdir, "file"), "before")
  const cut = filesOf(home.workdir, (stdin) => stdin.subarray(0, 3))
  await expect(cut.write("file", "0123456789")).rejects.toThrow("the data is incomplete")
  expect(await readdir(home.workdir)).toEqual(["file"])
  expect(await readFile(join(home.workdir, "file"), "utf8")).toBe("before")
})

test("directories created for a file are removed when it cannot be written", async () => {
  await using home = await temporaryHome({ workFiles: { "old/.keep": "" } })
  const cut = filesOf(home.workdir, (stdin) => stdin.subarray(0, 3))
  await expect(cut.write("old/new/deep/file", "0123456789")).rejects.toThrow("the data is incomplete")
  await expect(filesOf(home.workdir).write(`old/new/${"x".repeat(300)}/file`, "")).rejects.toThrow("ENAMETOOLONG")
  expect(await readdir(home.workdir)).toEqual(["old"])
  expect(await readdir(join(home.workdir, "old"))).toEqual([".keep"])
})

test("a path with a NUL character is rejected", async () => {
  await using home = await temporaryHome()
  await mkdir(join(home.workdir, "a"))
  await expect(filesOf(home.workdir).read("a\0b")).rejects.toThrow("NUL")
})

test("lookups in the same tick share one call; each has its own result or error", async () => {
  await using home = await temporaryHome({ workFiles: { a: "1", "new\nline ": "22", "d/x": "333" } })
  const calls: number[] = []
  const files = createShellFiles({
    cwd: () => home.workdir,
    home: home.workdir,
    maxInputBytes: 1000,
    runScript: (script, args) => {
      calls.push(args.length / 2)
      const result = spawnSync("sh", ["-c", script, "hermes", ...args])
      return Promise.resolve({ failed: result.status !== 0, stdout: result.stdout, stderr: result.stderr.toString() })
    },
  })
  await symlink("loop", join(home.workdir, "loop"))
  await symlink("d", join(home.workdir, "link"))
  const size = async (name: string): Promise<number | string | undefined> => {
    try {
      return (await files.stat(name))?.size
    } catch (error) {
      return errorCode(error)
    }
  }
  expect(
    await Promise.all([
      size("a"),
      size("new\nline "),
      size("missing"),
      size("loop"),
      size("d/x"),
      files.realPath("link/x"),
      files.realPath("link/new/er"),
    ]),
  ).toEqual([1, 2, undefined, "ELOOP", 3, join(home.workdir, "d/x"), join(home.workdir, "d/new/er")])
  expect(calls).toEqual([7])
  calls.length = 0
  await Promise.all(Array.from({ length: 250 }, (_, index) => files.stat(`${index}`)))
  await files.stat("a")
  expect(calls).toEqual([100, 100, 50, 1])
})

test("a script that was cut off fails every lookup and never reports a missing file", async () => {
  const cut = createShellFiles({
    cwd: () => "/",
    home: "/",
    maxInputBytes: 1000,
    runScript: () => Promise.resolve({ failed: true, stdout: Buffer.from(""), stderr: "Killed" }),
  })
  await expect(Promise.all([cut.stat("a"), cut.stat("b")])).rejects.toThrow("no result for /a: Killed")
})
