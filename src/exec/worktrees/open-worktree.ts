import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Git } from "./git.ts"
import { ignoreWorktrees } from "./ignore-rule.ts"
import { unmodifiedIncludedFiles, copyIncludedFiles } from "./included-files.ts"
import { markInUse } from "./in-use-markers.ts"
import { withWorktreesLock } from "./remove-worktree.ts"
import { findRepository } from "./repository.ts"
import type { Repository, RepositoryFailure } from "./repository.ts"
import { pruneStale } from "./stale-worktrees.ts"
import { gitVariables, isRegistered, isWorktreePath, worktreeAt, WORKTREES_DIRECTORY } from "./worktree.ts"
import type { Worktree, WorktreeLocation } from "./worktree.ts"

const CREATE_TIMEOUT_MS = 30_000
const CLEANUP_TIMEOUT_MS = 10_000

interface Dependencies {
  readonly git: Git
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface OpenedWorktree {
  readonly worktree: Worktree
  /** Paths of old worktrees that were not removed because they contain unsaved work. */
  readonly kept: readonly string[]
  /** Messages for the user. */
  readonly warnings: readonly string[]
}

/** Creates a worktree of the repository that contains a directory, from the commit checked out there. Cleans up on failure. */
export async function createWorktree(
  directory: string,
  dependencies: Dependencies,
): Promise<Result<OpenedWorktree, RepositoryFailure>> {
  const found = await findRepository(directory, dependencies.git, dependencies.signal)
  if (!found.ok) return found
  const repository = found.value
  try {
    const problem = ensureWorktreesDirectory(repository.root)
    if (problem !== undefined) return unusable(problem)
    return await withWorktreesLock(repository.root, dependencies.signal, async () => {
      const kept = await pruneStale(repository, dependencies)
      await ignoreWorktrees(repository, dependencies.git, dependencies.signal)
      const added = await addWorktree(repository, dependencies)
      return added.ok ? ok({ ...added.value, kept }) : added
    })
  } catch (error) {
    return unusable(`cannot create a worktree in ${repository.root}: ${explainSystemError(error)}`)
  }
}

/** Opens an existing worktree again, to continue its conversation. Resolves with undefined when it no longer exists. */
export async function reopenWorktree(path: string, { git, signal }: Dependencies): Promise<Worktree | undefined> {
  if (!isWorktreePath(path) || !existsSync(path)) return undefined
  const found = await findRepository(dirname(dirname(path)), git, signal)
  if (!found.ok) return undefined
  const location = worktreeAt(basename(path), found.value)
  if (location.path !== path || !isRegistered(location)) return undefined
  return await withWorktreesLock(location.root, signal, async () => {
    if (!existsSync(path)) return undefined
    prepareGitDirectories(location)
    markInUse(location)
    const included = await untracked(unmodifiedIncludedFiles(location), location, { git, signal })
    return { ...location, subdirectory: "", included }
  })
}

async function untracked(
  names: readonly string[],
  worktree: WorktreeLocation,
  { git, signal }: Pick<Dependencies, "git" | "signal">,
): Promise<readonly string[]> {
  if (names.length === 0) return []
  const call = { directory: worktree.path, signal, variables: gitVariables(worktree) }
  const listed = await git(["--literal-pathspecs", "ls-files", "-z", "--", ...names], call)
  const tracked = new Set(listed.text.split("\0"))
  return names.filter((name) => !tracked.has(name))
}

/** Returns a message for the user when something else has the name of the directory. */
function ensureWorktreesDirectory(root: string): string | undefined {
  const directory = join(root, WORKTREES_DIRECTORY)
  const found = lstatSync(directory, { throwIfNoEntry: false })
  if (found !== undefined && !found.isDirectory())
    return `worktrees are created in ${directory}, which is not a directory; rename it`
  mkdirSync(directory, { recursive: true })
  return undefined
}

async function addWorktree(
  repository: Repository,
  { git, signal }: Dependencies,
): Promise<Result<Omit<OpenedWorktree, "kept">, RepositoryFailure>> {
  const location = worktreeAt(`hermes-${randomHex(4)}`, repository)
  const { root, head: base, subdirectory } = repository
  const added = await git(["worktree", "add", "--quiet", "--no-track", "-b", location.branch, location.path, base], {
    directory: root,
    signal,
    timeoutMs: CREATE_TIMEOUT_MS,
  })
  try {
    if (!added.ok) throw new Error(added.problem)
    if (!isRegistered(location)) throw new Error("git registered the worktree under an unexpected name")
    prepareGitDirectories(location)
    markInUse(location)
    const { included, warnings } = copyIncludedFiles(location)
    signal.throwIfAborted()
    return ok({ worktree: { ...location, base, subdirectory, included }, warnings })
  } catch (error) {
    await removePartial(location, git)
    return unusable(`cannot create a worktree in ${root}: ${explainSystemError(error)}${branchHint(repository)}`)
  }
}

/** Creates directories that git would otherwise create later: a sandbox can only mount what exists. */
function prepareGitDirectories({
  commonDirectory,
  gitDirectory,
}: Pick<Worktree, "commonDirectory" | "gitDirectory">): void {
  mkdirSync(join(commonDirectory, "refs", "heads", "hermes"), { recursive: true })
  mkdirSync(join(commonDirectory, "logs", "refs", "heads", "hermes"), { recursive: true })
  mkdirSync(join(gitDirectory, "logs"), { recursive: true })
  const settings = join(gitDirectory, "config.worktree")
  if (!existsSync(settings)) writeFileSync(settings, "")
}

/** Git cannot create branches below `hermes/` while a branch `hermes` exists. */
function branchHint({ commonDirectory }: Repository): string {
  const found = lstatSync(join(commonDirectory, "refs", "heads", "hermes"), { throwIfNoEntry: false })
  return found?.isFile() === true ? "; rename the branch hermes, because worktrees need branches named hermes/…" : ""
}

async function removePartial(worktree: WorktreeLocation, git: Git): Promise<void> {
  const options = { directory: worktree.root, signal: AbortSignal.timeout(CLEANUP_TIMEOUT_MS) }
  await git(["worktree", "remove", "--force", "--force", worktree.path], options)
  rmSync(worktree.path, { recursive: true, force: true })
  rmSync(worktree.gitDirectory, { recursive: true, force: true })
  await git(["branch", "-D", "--quiet", worktree.branch], options)
}

function unusable(message: string): { readonly ok: false; readonly error: RepositoryFailure } {
  return fail({ kind: "unusable", message })
}
