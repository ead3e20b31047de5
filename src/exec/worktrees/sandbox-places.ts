import { join } from "node:path"

import type { Worktree } from "./worktree.ts"

/**
 * What git must write for commits, fetches and the like in a worktree, and what stays as it is: the person's checkout, settings, hooks,
 * other branches, and the files that say which repository this is.
 */
export function sandboxPlaces({ path, root, commonDirectory, ownDirectory }: Worktree): {
  readonly writable: readonly string[]
  readonly readOnly: readonly string[]
} {
  const common = (name: string): string => join(commonDirectory, name)
  return {
    writable: [
      path,
      ownDirectory,
      ...["objects", "refs/heads/hermes", "logs/refs/heads/hermes", "refs/remotes", "logs/refs/remotes"].map(common),
    ],
    readOnly: [
      root,
      commonDirectory,
      join(path, ".git"),
      ...["commondir", "gitdir", "config.worktree"].map((name) => join(ownDirectory, name)),
    ],
  }
}
