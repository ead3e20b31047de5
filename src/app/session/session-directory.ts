import { realpathSync } from "node:fs"
import { dirname, sep } from "node:path"

import { isWorktreePath } from "../../exec/worktrees/worktree.ts"

/**
 * Returns whether a session of some directory belongs to this one: it was here, or in a worktree that Hermes created from the
 * checkout that contains this directory.
 */
export function isOfDirectory(cwd: string): (directory: string | null) => boolean {
  const here = new Set([cwd, realPath(cwd)])
  return (directory) => {
    if (directory === null) return false
    if (here.has(directory)) return true
    if (!isWorktreePath(directory)) return false
    const checkout = dirname(dirname(directory))
    return [...here].some((path) => path === checkout || path.startsWith(checkout === sep ? sep : checkout + sep))
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    // It no longer exists; its name still identifies it.
    return path
  }
}
