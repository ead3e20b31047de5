import { dirname, join, resolve } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"

/** Files of git that are read here have one line. */
const MAX_CHARS = 4096

/**
 * The branch that is checked out in the repository of a directory, or the beginning of the commit; undefined outside of a repository.
 * Reads files only, because starting git takes longer than drawing a frame.
 */
export function currentBranch(directory: string): string | undefined {
  for (let path = resolve(directory); ; path = dirname(path)) {
    const head = firstLine(join(gitDirectory(path), "HEAD"))
    if (head !== undefined) return /^ref: refs\/heads\/(.+)$/u.exec(head)?.[1] ?? head.slice(0, 7)
    if (dirname(path) === path) return undefined
  }
}

/** In a worktree and a submodule, `.git` is a file that names the directory. */
function gitDirectory(root: string): string {
  const named = /^gitdir: (.+)$/u.exec(firstLine(join(root, ".git")) ?? "")?.[1]
  return named === undefined ? join(root, ".git") : resolve(root, named)
}

function firstLine(path: string): string | undefined {
  return readRegularText(path)?.slice(0, MAX_CHARS).split("\n", 1)[0]?.trim()
}
