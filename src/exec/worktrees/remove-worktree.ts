import { existsSync } from "node:fs"
import { join } from "node:path"

import { withFileLock } from "../../base/file-lock.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Git } from "./git.ts"
import { removeIncludedFiles, copyIncludedFiles } from "./included-files.ts"
import { clearInUse, isInUseElsewhere } from "./in-use-markers.ts"
import { findUnsavedWork } from "./unsaved-work.ts"
import { isRegistered, WORKTREES_DIRECTORY } from "./worktree.ts"
import type { Worktree, WorktreeLocation } from "./worktree.ts"

export type WorktreeRemoval =
  | { readonly kind: "removed" }
  /** Not removed; `what` says what it contains or what went wrong, as text for the user. */
  | { readonly kind: "kept"; readonly what: string }
  | { readonly kind: "in-use" }

type ClosedWorktree = WorktreeLocation & Pick<Worktree, "base">

/** Serialises changes of the directory of worktrees across processes. */
export async function withWorktreesLock<T>(root: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return await withFileLock(join(root, WORKTREES_DIRECTORY, ".lock"), { waitMs: LOCK_WAIT_MS, signal }, work)
}

const LOCK_WAIT_MS = 60_000

/** Call it when the conversation has ended. Removes the worktree and its branch unless it contains work. Never rejects. */
export async function closeWorktree(worktree: ClosedWorktree, git: Git, signal: AbortSignal): Promise<WorktreeRemoval> {
  try {
    return await withWorktreesLock(worktree.root, signal, async () => {
      clearInUse(worktree)
      return await removeIfUnused(worktree, git, signal)
    })
  } catch (error) {
    return { kind: "kept", what: errorMessage(error) }
  }
}

/** The caller must hold the lock. */
export async function removeIfUnused(
  worktree: ClosedWorktree,
  git: Git,
  signal: AbortSignal,
): Promise<WorktreeRemoval> {
  if (isInUseElsewhere(worktree)) return { kind: "in-use" }
  if (!existsSync(worktree.path) || !isRegistered(worktree))
    return { kind: "kept", what: "git no longer knows this worktree" }
  const work = await findUnsavedWork(worktree, git, signal)
  if (work.kind === "unknown") return { kind: "kept", what: work.problem }
  if (work.kind === "some") return { kind: "kept", what: describeWork(work) }
  removeIncludedFiles(worktree, work.includedFiles)
  // Without --force git checks once more and refuses if new files have appeared since.
  const removed = await git(["worktree", "remove", worktree.path], { directory: worktree.root, signal })
  if (!removed.ok) {
    copyIncludedFiles(worktree)
    return { kind: "kept", what: removed.problem }
  }
  await git(["branch", "-D", "--quiet", worktree.branch], { directory: worktree.root, signal })
  return { kind: "removed" }
}

function describeWork({ changes, commits }: { readonly changes: number; readonly commits: number }): string {
  return [
    ...(changes === 0 ? [] : [changes === 1 ? "1 changed file" : `${changes} changed files`]),
    ...(commits === 0 ? [] : [commits === 1 ? "1 unmerged commit" : `${commits} unmerged commits`]),
  ].join(" and ")
}
