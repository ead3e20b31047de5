import { expect, test } from "vitest"

import { isOfDirectory } from "./session-directory.ts"

const WORKTREE = "/repo/.worktrees/hermes-0123abcd"

test.each([
  ["/repo", "/repo", true],
  ["/repo", "/repo/sub", false],
  ["/repo/sub", "/repo", false],
  ["/repo", null, false],
  ["/repo", WORKTREE, true],
  ["/repo/sub", WORKTREE, true],
  [WORKTREE, WORKTREE, true],
  ["/repository", WORKTREE, false],
  ["/", WORKTREE, false],
])("in %s a session of %s belongs: %s", (cwd, directory, expected) => {
  expect(isOfDirectory(cwd)(directory)).toBe(expected)
})
