import { basename, dirname, join, resolve } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"

/** A separate git worktree for one conversation, on its own branch. */
export interface Worktree {
  readonly path: string
  readonly branch: string
  /** The checkout it was created from. */
  readonly root: string
  /** Git's directory for the whole repository ($GIT_COMMON_DIR). */
  readonly commonDirectory: string
  /** Git's directory for this worktree ($GIT_DIR). */
  readonly gitDirectory: string
  /** The commit it was created from, if this process has created it. */
  readonly base?: string
  /** The user's directory relative to the checkout; empty at its root. */
  readonly subdirectory: string
  /** Relative paths that were copied or linked from the checkout because `.worktreeinclude` lists them. */
  readonly included: readonly string[]
}

/** What follows from the name of a worktree and its repository. */
export type WorktreeLocation = Pick<Worktree, "path" | "branch" | "root" | "commonDirectory" | "gitDirectory">

/** The directory in the checkout that contains the worktrees. */
export const WORKTREES_DIRECTORY = ".worktrees"

export function isWorktreeName(name: string): boolean {
  return /^hermes-[0-9a-f]{8}$/u.test(name)
}

/** Whether a path has the form of a worktree that Hermes created; it need not exist. */
export function isWorktreePath(path: string): boolean {
  return isWorktreeName(basename(path)) && basename(dirname(path)) === WORKTREES_DIRECTORY
}

export function worktreeAt(
  name: string,
  repository: { readonly root: string; readonly commonDirectory: string },
): WorktreeLocation {
  const { root, commonDirectory } = repository
  return {
    path: join(root, WORKTREES_DIRECTORY, name),
    branch: `hermes/${name}`,
    root,
    commonDirectory,
    gitDirectory: join(commonDirectory, "worktrees", name),
  }
}

/** Whether git knows the worktree. Does not trust the worktree's `.git` file, which a command may have changed. */
export function isRegistered({ path, gitDirectory }: Pick<Worktree, "path" | "gitDirectory">): boolean {
  const pointer = readRegularText(join(gitDirectory, "gitdir"))
  return pointer !== undefined && resolve(gitDirectory, pointer.trim()) === join(path, ".git")
}

/** Environment variables that bind git to this worktree and its repository, regardless of the `.git` file in it. */
export function gitVariables(worktree: Pick<Worktree, "path" | "commonDirectory" | "gitDirectory">) {
  return {
    GIT_DIR: worktree.gitDirectory,
    GIT_COMMON_DIR: worktree.commonDirectory,
    GIT_WORK_TREE: worktree.path,
    GIT_OPTIONAL_LOCKS: "0",
  }
}
