import { spawnSync } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome } from "../../test/support/temporary-home.ts"
import { createLocalWorkspace } from "./local/local-workspace.ts"
import { withPerCallFileCache } from "./per-call-file-cache.ts"
import { createShellFiles } from "./shell-files.ts"
import type { Workspace } from "./workspace.ts"

/** A local workspace with the file access of a remote one; `roundTrips` counts the scripts that would go over the connection. */
function remoteWorkspace(folder: string): { readonly workspace: Workspace; readonly roundTrips: () => number } {
  let roundTrips = 0
  const local = createLocalWorkspace({
    cwd: folder,
    userHome: folder,
    environment: { PATH: process.env["PATH"] ?? "" },
  })
  const files = createShellFiles({
    cwd: () => folder,
    home: folder,
    maxInputBytes: 1_000_000,
    runScript: (script, args, stdin) => {
      roundTrips += 1
      const result = spawnSync("sh", ["-c", script, "hermes", ...args], { input: stdin ?? new Uint8Array() })
      return Promise.resolve({ failed: result.status !== 0, stdout: result.stdout, stderr: result.stderr.toString() })
    },
  })
  return { workspace: { ...local, files }, roundTrips: () => roundTrips }
}

const limits = () => ({ timeoutMs: 20_000, signal: new AbortController().signal, keepChars: 1000 })

test("stat and read of a path that was resolved before take one more round trip", async () => {
  await using home = await temporaryHome({ workFiles: { "d/a": "one" } })
  const remote = remoteWorkspace(home.workdir)
  const { files } = withPerCallFileCache(remote.workspace)
  await Promise.all([files.realPath("d/a"), files.realPath(".")])
  expect(remote.roundTrips()).toBe(1)
  expect(await files.realPath("./d/../d/a")).toBe(join(home.workdir, "d/a"))
  expect((await files.stat("."))?.kind).toBe("directory")
  expect(remote.roundTrips()).toBe(1)
  expect((await files.stat("d/a"))?.size).toBe(3)
  expect(String(await files.read("d/a"))).toBe("one")
  expect((await files.stat("d/a"))?.size).toBe(3)
  expect(remote.roundTrips()).toBe(2)
})

test("stat reports the file as it is now, not as it was when its path was resolved", async () => {
  await using home = await temporaryHome({ workFiles: { a: "one" } })
  const { files } = withPerCallFileCache(remoteWorkspace(home.workdir).workspace)
  await files.realPath("a")
  await files.realPath("new")
  await writeFile(join(home.workdir, "a"), "longer")
  await writeFile(join(home.workdir, "new"), "there")
  expect([(await files.stat("a"))?.size, (await files.stat("new"))?.size]).toEqual([6, 5])
})

test("a write caches the new facts and drops the cached content", async () => {
  await using home = await temporaryHome({ workFiles: { a: "one" } })
  const remote = remoteWorkspace(home.workdir)
  const { files } = withPerCallFileCache(remote.workspace)
  await files.realPath("a")
  await files.stat("a")
  await files.write("a", "three")
  expect(remote.roundTrips()).toBe(3)
  expect((await files.stat("a"))?.size).toBe(5)
  expect(remote.roundTrips()).toBe(3)
  await writeFile(join(home.workdir, "a"), "spoilt")
  expect(String(await files.read("a"))).toBe("spoilt")
})

test("a command, a removal and a rename invalidate the cache", async () => {
  await using home = await temporaryHome({ workFiles: { a: "one", b: "two" } })
  const cached = withPerCallFileCache(remoteWorkspace(home.workdir).workspace)
  const { files } = cached
  await files.realPath("a")
  await files.stat("a")
  await cached.run("rm a; ln -s b a", limits()).exit
  expect([await files.realPath("a"), String(await files.read("a"))]).toEqual([join(home.workdir, "b"), "two"])
  await files.remove("a")
  expect(await files.stat("a")).toBeUndefined()
  await files.stat("b")
  await files.rename("b", "c")
  expect([await files.stat("b"), (await files.stat("c"))?.size]).toEqual([undefined, 3])
  expect(await readFile(join(home.workdir, "c"), "utf8")).toBe("two")
  await cached.close()
})

test("a local workspace is returned unchanged", async () => {
  await using home = await temporaryHome()
  const local = createLocalWorkspace({ cwd: home.workdir, userHome: home.workdir, environment: {} })
  expect(withPerCallFileCache(local)).toBe(local)
  await local.close()
})
