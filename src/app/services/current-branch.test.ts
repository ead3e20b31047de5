import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { currentBranch } from "./current-branch.ts"

test("the branch of a repository, of a worktree and of a detached commit", async () => {
  await using home = await temporaryHome({
    workFiles: {
      "repo/.git/HEAD": "ref: refs/heads/feature/one\n",
      "repo/.git/worktrees/two/HEAD": "0123456789abcdef0123456789abcdef01234567\n",
      "two/.git": "gitdir: ../repo/.git/worktrees/two\n",
    },
  })
  mkdirSync(join(home.workdir, "repo/src/deep"), { recursive: true })
  expect(currentBranch(join(home.workdir, "repo/src/deep"))).toBe("feature/one")
  expect(currentBranch(join(home.workdir, "two"))).toBe("0123456")
  expect(currentBranch(home.workdir)).toBeUndefined()
  writeFileSync(join(home.workdir, "repo/.git/HEAD"), "")
  expect(currentBranch(join(home.workdir, "repo"))).toBe("")
})
