import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { isNamedByGit } from "./named-by-settings.ts"

function create(root: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), "")
  }
}

test.each([
  ["docs/config", true],
  ["docs/Config", true],
  ["docs/config.worktree", true],
  ["docs/commondir", true],
  ["docs/hooks/post-receive", true],
  ["docs/info/attributes", true],
  ["docs/objects/info/alternates", true],
  ["docs/worktrees/tree/gitdir", true],
  ["docs/modules/sub/config", true],
  ["docs/rebase-merge/git-rebase-todo", true],
  ["tree/config.worktree", true],
  ["docs/info/exclude", false],
  ["docs/guide.md", false],
  ["docs/main/src/hooks/use-it.ts", false],
  ["src/config", false],
  ["src/hooks/use-it.ts", false],
  ["config", false],
])("in a git directory of any name, git obeys %s: %s", async (name, expected) => {
  await using home = await temporaryHome()
  create(home.workdir, ["docs/HEAD", "docs/objects/x", "tree/HEAD", "tree/commondir", "src/objects/x"])
  const path = join(home.workdir, name)
  expect(isNamedByGit(path, { root: home.workdir, userHome: home.userHome })).toBe(expected)
  // File tools write in other directories too, such as the temporary one.
  expect(isNamedByGit(path, { root: home.userHome, userHome: home.userHome })).toBe(expected)
})
