import { existsSync } from "node:fs"
import { join } from "node:path"

import { withFileLock } from "../../base/file-lock.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Git } from "./git.ts"
import { removeIncluded, takeOverIncluded } from "./included-files.ts"
import { exitWorktree, isOpenElsewhere } from "./open-signs.ts"
import { remainingWork } from "./remaining-work.ts"
import { isRegistered, WORKTREES } from "./worktree.ts"
import type { Worktree } from "./worktree.ts"

export type Removal =
  | { readonly kind: "removed" }
  /** It holds work; `what` says which, in words. */
  | { readonly kind: "kept"; readonly what: string }
  | { readonly kind: "in-use" }

type Known = Pick<Worktree, "path" | "branch" | "root" | "commonDirectory" | "ownDirectory"> & {
  readonly base?: string
}

/** One change of the folder at a time, also from several processes. */
export async function withWorktreesLock<T>(root: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return await withFileLock(join(root, WORKTREES, ".lock"), { waitMs: LOCK_MS, signal }, work)
}

const LOCK_MS = 60_000

/** The conversation has ended: a worktree without work goes, with its branch. Never rejects. */
export async function leaveWorktree(worktree: Known, git: Git, signal: AbortSignal): Promise<Removal> {
  try {
    return await withWorktreesLock(worktree.root, signal, async () => {
      exitWorktree(worktree)
      return await removeUnused(worktree, git, signal)
    })
  } catch (error) {
    return { kind: "kept", what: errorMessage(error) }
  }
}

/** To be called with the lock. */
export async function removeUnused(worktree: Known, git: Git, signal: AbortSignal): Promise<Removal> {
  if (isOpenElsewhere(worktree)) return { kind: "in-use" }
  if (!existsSync(worktree.path) || !isRegistered(worktree))
    return { kind: "kept", what: "git does not know it any more" }
  const work = await remainingWork(worktree, git, signal)
  if (work.kind === "unknown") return { kind: "kept", what: work.problem }
  if (work.kind === "some") return { kind: "kept", what: wordsFor(work) }
  removeIncluded(worktree, work.takenOver)
  // Without force git looks once more itself, and leaves what came in between.
  const removed = await git(["worktree", "remove", worktree.path], { directory: worktree.root, signal })
  if (!removed.ok) {
    takeOverIncluded(worktree)
    return { kind: "kept", what: removed.problem }
  }
  await git(["branch", "-D", "--quiet", worktree.branch], { directory: worktree.root, signal })
  return { kind: "removed" }
}

function wordsFor({ changes, commits }: { readonly changes: number; readonly commits: number }): string {
  return [
    ...(changes === 0 ? [] : [changes === 1 ? "1 changed file" : `${changes} changed files`]),
    ...(commits === 0 ? [] : [commits === 1 ? "1 commit of its own" : `${commits} commits of its own`]),
  ].join(" and ")
}
