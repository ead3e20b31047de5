import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import { expect, test } from "vitest"

import { createRepository, git } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { createSubmoduleLookup } from "./submodule-paths.ts"
import { CLOCK_TICK_MS } from "./time-of-change.ts"

const PATH = "/usr/local/bin:/usr/bin:/bin"

function addSubmodules(root: string, ...paths: readonly string[]): void {
  const commit = git(root, "rev-parse", "HEAD")
  for (const path of paths) git(root, "update-index", "--add", "--cacheinfo", `160000,${commit},${path}`)
}

const listed = async (root: string, path = PATH) => await createSubmoduleLookup(path)(root)

test.each(["2", "3", "4"])("finds submodules in an index of version %s without git", async (version) => {
  await using home = await temporaryHome()
  const files = Object.fromEntries(Array.from({ length: 300 }, (_name, index) => [`src/file-${index}.txt`, "x\n"]))
  const root = createRepository(home.workdir, files)
  addSubmodules(root, "build/deep/sub", "src/file-1", "zz/ü")
  if (version === "3") {
    writeFileSync(join(root, "new.txt"), "x\n")
    git(root, "add", "--intent-to-add", "new.txt")
  }
  git(root, "update-index", "--index-version", version)
  expect(await listed(root, "")).toEqual({ paths: ["build/deep/sub", "src/file-1", "zz/ü"], undecodable: [] })
})

test("asks git about a split index, about SHA-256, and about an index that git does not write like this", async () => {
  await using home = await temporaryHome()
  const root = createRepository(join(home.workdir, "split"))
  addSubmodules(root, "one")
  git(root, "update-index", "--split-index")
  addSubmodules(root, "two")
  expect(await listed(root)).toEqual({ paths: ["one", "two"], undecodable: [] })
  expect((await listed(root, "")).problem).toBe("there is no git in a directory of the system")

  const modern = join(home.workdir, "modern")
  mkdirSync(modern)
  git(modern, "init", "--quiet", "--object-format=sha256")
  git(modern, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--allow-empty", "--message", "x")
  addSubmodules(modern, "three")
  expect(await listed(modern)).toEqual({ paths: ["three"], undecodable: [] })

  const sparse = createRepository(join(home.workdir, "sparse"), { "a/x": "", "b/x": "" })
  git(sparse, "sparse-checkout", "set", "--cone", "--sparse-index", "a")
  addSubmodules(sparse, "a/five")
  expect((await listed(sparse, "")).problem).toBeDefined()
  expect((await listed(sparse)).paths).toEqual(["a/five"])

  const odd = createRepository(join(home.workdir, "odd"), {})
  addSubmodules(odd, "four")
  const index = readFileSync(join(odd, ".git/index"))
  // Git ignores the permissions of a submodule.
  index.writeUInt32BE(0o160755, 12 + 24)
  writeFileSync(join(odd, ".git/index"), index)
  expect((await listed(odd, "")).paths).toEqual(["four"])
  // Git believes the length of a path, not its end.
  index.writeUInt16BE(3, 12 + 60)
  writeFileSync(join(odd, ".git/index"), index)
  expect((await listed(odd, "")).problem).toBeDefined()
  expect((await listed(odd)).paths).toEqual(["four"])
})

test("returns paths that are not valid UTF-8 as bytes", async () => {
  await using home = await temporaryHome()
  const root = createRepository(home.workdir)
  addSubmodules(root, "sub?")
  const index = join(root, ".git/index")
  writeFileSync(index, Buffer.from(readFileSync(index).toString("latin1").replace("sub?", "sub\u00FF"), "latin1"))
  expect(await listed(root)).toEqual({ paths: [], undecodable: [Buffer.from("sub\u00FF", "latin1")] })
})

test("says why an index cannot be read; a missing one lists none", async () => {
  await using home = await temporaryHome()
  const root = createRepository(home.workdir)
  const index = join(root, ".git/index")
  for (const bytes of ["DIRC", "DIRC\0\0\0\u0002\0\0\0\u0009rubbish"]) {
    writeFileSync(index, bytes)
    const { paths, problem } = await listed(root)
    expect([paths, problem]).toEqual([[], expect.stringContaining("index")])
  }
  rmSync(index)
  expect(await listed(root)).toEqual({ paths: [], undecodable: [] })
})

test("an index is read again when it, its shared part or the settings have changed, and only then", async () => {
  await using home = await temporaryHome()
  const root = createRepository(home.workdir)
  addSubmodules(root, "one")
  git(root, "update-index", "--split-index")
  await sleep(CLOCK_TICK_MS * 2)
  const lookup = createSubmoduleLookup(PATH)
  const first = await lookup(root)
  expect(await lookup(root)).toBe(first)
  const [shared = ""] = git(root, "rev-parse", "--shared-index-path").split("\n")
  const path = join(root, shared)
  const { atime, mtime } = statSync(path)
  const bytes = readFileSync(path)
  bytes.write("two", bytes.indexOf("one"))
  writeFileSync(`${path}.new`, bytes)
  utimesSync(`${path}.new`, atime, mtime)
  renameSync(`${path}.new`, path)
  expect((await lookup(root)).paths).toEqual(["two"])
  await sleep(CLOCK_TICK_MS * 2)
  const again = await lookup(root)
  appendFileSync(join(root, ".git/config"), "# changed\n")
  expect(await lookup(root)).not.toBe(again)
})
