import { readFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

/** A checkout of its own for one conversation, on a branch of its own. */
export interface Worktree {
  readonly path: string
  readonly branch: string
  /** The checkout it was made from. */
  readonly root: string
  /** What git keeps for the whole repository, and for this worktree alone. */
  readonly commonDirectory: string
  readonly ownDirectory: string
  /** The commit it was made from, where this process has made it. */
  readonly base?: string
  /** Where in the checkout the person was; empty at its root. */
  readonly startedIn: string
  /** What was taken over from the checkout because `.worktreeinclude` names it: relative paths. */
  readonly included: readonly string[]
}

/** The folder in the checkout that worktrees are made in. */
export const WORKTREES = ".worktrees"

export function isWorktreeName(name: string): boolean {
  return /^hermes-[0-9a-f]{8}$/u.test(name)
}

/** Whether a directory is where a worktree of ours lies or has lain. */
export function isWorktreePath(path: string): boolean {
  return isWorktreeName(basename(path)) && basename(dirname(path)) === WORKTREES
}

export function worktreeAt(
  name: string,
  repository: { readonly root: string; readonly commonDirectory: string },
): Pick<Worktree, "path" | "branch" | "root" | "commonDirectory" | "ownDirectory"> {
  const { root, commonDirectory } = repository
  return {
    path: join(root, WORKTREES, name),
    branch: `hermes/${name}`,
    root,
    commonDirectory,
    ownDirectory: join(commonDirectory, "worktrees", name),
  }
}

/** Whether git knows the worktree. Its own `.git` file is not asked: a command may have changed that. */
export function isRegistered({ path, ownDirectory }: Pick<Worktree, "path" | "ownDirectory">): boolean {
  try {
    const pointer = readFileSync(join(ownDirectory, "gitdir"), "utf8").trim()
    return resolve(ownDirectory, pointer) === join(path, ".git")
  } catch {
    // Git keeps nothing about it.
    return false
  }
}

/** Makes git look at this worktree and the repository it was made from, whatever files in it say. */
export function gitVariables(worktree: Pick<Worktree, "path" | "commonDirectory" | "ownDirectory">) {
  return {
    GIT_DIR: worktree.ownDirectory,
    GIT_COMMON_DIR: worktree.commonDirectory,
    GIT_WORK_TREE: worktree.path,
    GIT_OPTIONAL_LOCKS: "0",
  }
}
