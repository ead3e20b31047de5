import { existsSync, readdirSync, rmdirSync, statSync } from "node:fs"
import { basename, join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { readRegularText } from "../../base/regular-file.ts"
import type { Git } from "./git.ts"
import { countUnmergedCommits } from "./unsaved-work.ts"
import { removeIfUnused } from "./remove-worktree.ts"
import type { Repository } from "./repository.ts"
import { isRegistered, isWorktreeName, worktreeAt, WORKTREES_DIRECTORY } from "./worktree.ts"
import type { WorktreeLocation } from "./worktree.ts"

const HOUR_MS = 3_600_000
const MIN_REMOVAL_AGE_MS = 24 * HOUR_MS
const MIN_REPORT_AGE_MS = 72 * HOUR_MS

/**
 * Removes worktrees that a killed process left behind, if they are a day old and contain no work. Returns the paths of those older
 * than three days that were kept because they contain work. The caller must hold the lock.
 */
export async function pruneStale(
  repository: Pick<Repository, "root" | "commonDirectory">,
  { git, clock, signal }: { readonly git: Git; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const kept: string[] = []
  for (const name of namesIn(join(repository.root, WORKTREES_DIRECTORY))) {
    const worktree = worktreeAt(name, repository)
    const age = clock.now() - statSync(worktree.path).mtimeMs
    if (age < MIN_REMOVAL_AGE_MS) continue
    const isSettled = isRegistered(worktree) ? await removeStale(worktree, git, signal) : removeEmpty(worktree.path)
    if (!isSettled && age > MIN_REPORT_AGE_MS) kept.push(worktree.path)
  }
  for (const worktree of deletedWorktrees(repository)) await unregister(worktree, git, signal)
  return kept
}

/** Returns false when the worktree was kept because it contains work. */
async function removeStale(worktree: WorktreeLocation, git: Git, signal: AbortSignal): Promise<boolean> {
  if (isIncomplete(worktree)) {
    // Git was interrupted during the checkout, so the worktree was never used.
    const options = { directory: worktree.root, signal }
    const removed = await git(["worktree", "remove", "--force", "--force", worktree.path], options)
    if (removed.ok) await git(["branch", "-D", "--quiet", worktree.branch], options)
    return removed.ok
  }
  const { kind } = await removeIfUnused(worktree, git, signal)
  return kind !== "kept"
}

function isIncomplete({ gitDirectory }: WorktreeLocation): boolean {
  return readRegularText(join(gitDirectory, "locked"))?.trim() === "initializing"
}

function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path)
    return true
  } catch {
    // The directory contains files of unknown origin.
    return false
  }
}

/** Unregisters a worktree whose directory the user has deleted, and removes its branch unless it has unmerged commits. */
async function unregister(worktree: WorktreeLocation, git: Git, signal: AbortSignal): Promise<void> {
  const options = { directory: worktree.root, signal }
  await git(["worktree", "remove", worktree.path], options)
  if ((await countUnmergedCommits(worktree, git, signal)) === 0)
    await git(["branch", "-D", "--quiet", worktree.branch], options)
}

function deletedWorktrees(repository: Pick<Repository, "root" | "commonDirectory">): readonly WorktreeLocation[] {
  return entriesOf(join(repository.commonDirectory, "worktrees"))
    .map((name) => worktreeAt(basename(name), repository))
    .filter((worktree) => isRegistered(worktree) && !existsSync(worktree.path))
}

function namesIn(directory: string): readonly string[] {
  return entriesOf(directory).filter(
    (name) => statSync(join(directory, name), { throwIfNoEntry: false })?.isDirectory() === true,
  )
}

function entriesOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter(isWorktreeName)
  } catch {
    // No worktree was ever created.
    return []
  }
}
