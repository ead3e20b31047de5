import { existsSync, readdirSync, readFileSync, rmdirSync, statSync } from "node:fs"
import { basename, join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import type { Git } from "./git.ts"
import { unsharedCommits } from "./remaining-work.ts"
import { removeUnused } from "./remove-worktree.ts"
import type { Repository } from "./repository.ts"
import { isRegistered, isWorktreeName, worktreeAt, WORKTREES } from "./worktree.ts"

const HOUR_MS = 3_600_000
const FRESH_MS = 24 * HOUR_MS
const OLD_MS = 72 * HOUR_MS

/**
 * Removes worktrees that were left behind by a process that was killed: a day old and without work. Gives those that are older than
 * three days and kept because there is work in them. To be called with the lock.
 */
export async function pruneStale(
  repository: Pick<Repository, "root" | "commonDirectory">,
  { git, clock, signal }: { readonly git: Git; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const kept: string[] = []
  for (const name of namesIn(join(repository.root, WORKTREES))) {
    const worktree = worktreeAt(name, repository)
    const age = clock.now() - statSync(worktree.path).mtimeMs
    if (age < FRESH_MS) continue
    const gone = isRegistered(worktree) ? await removeStale(worktree, git, signal) : removeEmpty(worktree.path)
    if (!gone && age > OLD_MS) kept.push(worktree.path)
  }
  for (const worktree of withoutDirectory(repository)) await forget(worktree, git, signal)
  return kept
}

type Known = ReturnType<typeof worktreeAt>

async function removeStale(worktree: Known, git: Git, signal: AbortSignal): Promise<boolean> {
  if (isHalfMade(worktree)) {
    // Nobody has ever worked in it: git was stopped while it wrote the files.
    const options = { directory: worktree.root, signal }
    const removed = await git(["worktree", "remove", "--force", "--force", worktree.path], options)
    if (removed.ok) await git(["branch", "-D", "--quiet", worktree.branch], options)
    return removed.ok
  }
  const { kind } = await removeUnused(worktree, git, signal)
  return kind !== "kept"
}

function isHalfMade({ ownDirectory }: Known): boolean {
  try {
    return readFileSync(join(ownDirectory, "locked"), "utf8").trim() === "initializing"
  } catch {
    // It is not locked.
    return false
  }
}

function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path)
    return true
  } catch {
    // There are files in it, and nobody knows whose.
    return false
  }
}

/** The person has removed the directory by hand: git forgets it too, and the branch goes when nothing is on it alone. */
async function forget(worktree: Known, git: Git, signal: AbortSignal): Promise<void> {
  const options = { directory: worktree.root, signal }
  await git(["worktree", "remove", worktree.path], options)
  if ((await unsharedCommits(worktree, git, signal)) === 0)
    await git(["branch", "-D", "--quiet", worktree.branch], options)
}

function withoutDirectory(repository: Pick<Repository, "root" | "commonDirectory">): readonly Known[] {
  return entriesOf(join(repository.commonDirectory, "worktrees"))
    .map((name) => worktreeAt(basename(name), repository))
    .filter((worktree) => isRegistered(worktree) && !existsSync(worktree.path))
}

function namesIn(folder: string): readonly string[] {
  return entriesOf(folder).filter(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true,
  )
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter(isWorktreeName)
  } catch {
    // There has never been one.
    return []
  }
}
