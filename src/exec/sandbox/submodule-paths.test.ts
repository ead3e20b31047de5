import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { createRepository, git } from "../../../test/support/git-repository.ts"
import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { submodulePaths } from "./submodule-paths.ts"

test.each(["2", "3", "4"])("finds submodules in an index of version %s", async (version) => {
  await using home = await temporaryHome()
  const files = Object.fromEntries(Array.from({ length: 300 }, (_name, index) => [`src/file-${index}.txt`, "x\n"]))
  const root = createRepository(home.workdir, files)
  const commit = git(root, "rev-parse", "HEAD")
  for (const path of ["build/deep/sub", "src/file-1", "zz/ü"])
    git(root, "update-index", "--add", "--cacheinfo", `160000,${commit},${path}`)
  if (version === "3") {
    writeFileSync(join(root, "new.txt"), "x\n")
    git(root, "add", "--intent-to-add", "new.txt")
  }
  git(root, "update-index", "--index-version", version)
  expect(submodulePaths(join(root, ".git/index"))).toEqual(["build/deep/sub", "src/file-1", "zz/ü"])
})

test("an index that is damaged, cut off or missing lists none", async () => {
  await using home = await temporaryHome()
  const root = createRepository(home.workdir)
  const index = join(root, ".git/index")
  expect(submodulePaths(index)).toEqual([])
  for (const bytes of ["", "DIRC", "DIRC\0\0\0\u0002\0\0\0\u0009rubbish"]) {
    writeFileSync(index, bytes)
    expect(submodulePaths(index)).toEqual([])
  }
  expect(submodulePaths(join(root, "none"))).toEqual([])
})
