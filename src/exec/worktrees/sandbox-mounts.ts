import { join } from "node:path"

import type { Worktree } from "./worktree.ts"

/**
 * Paths that the sandbox mounts writable, so that git can commit and fetch in the worktree, and read-only: the user's checkout,
 * settings, hooks, other branches, and the files that identify the repository.
 */
export function sandboxMounts({ path, root, commonDirectory, gitDirectory }: Worktree): {
  readonly writable: readonly string[]
  readonly readOnly: readonly string[]
} {
  const common = (name: string): string => join(commonDirectory, name)
  return {
    writable: [
      path,
      gitDirectory,
      ...["objects", "refs/heads/hermes", "logs/refs/heads/hermes", "refs/remotes", "logs/refs/remotes"].map(common),
    ],
    readOnly: [
      root,
      commonDirectory,
      join(path, ".git"),
      ...["commondir", "gitdir", "config.worktree"].map((name) => join(gitDirectory, name)),
    ],
  }
}
