import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Git } from "./git.ts"
import { ignoreWorktrees } from "./ignore-rule.ts"
import { includedNames, takeOverIncluded } from "./included-files.ts"
import { enterWorktree } from "./open-signs.ts"
import { withWorktreesLock } from "./remove-worktree.ts"
import { findRepository } from "./repository.ts"
import type { Repository, RepositoryFailure } from "./repository.ts"
import { pruneStale } from "./stale-worktrees.ts"
import { gitVariables, isRegistered, isWorktreePath, worktreeAt, WORKTREES } from "./worktree.ts"
import type { Worktree } from "./worktree.ts"

const CREATE_MS = 30_000
const UNDO_MS = 10_000

interface Tools {
  readonly git: Git
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface OpenedWorktree {
  readonly worktree: Worktree
  /** Older ones that were kept because there is work in them. */
  readonly kept: readonly string[]
  /** For the person. */
  readonly warnings: readonly string[]
}

/** A fresh worktree of the repository that a directory is in, from what is checked out there. On failure nothing is left of it. */
export async function createWorktree(
  directory: string,
  tools: Tools,
): Promise<Result<OpenedWorktree, RepositoryFailure>> {
  const found = await findRepository(directory, tools.git, tools.signal)
  if (!found.ok) return found
  const repository = found.value
  try {
    const problem = folderProblem(repository.root)
    if (problem !== undefined) return unusable(problem)
    return await withWorktreesLock(repository.root, tools.signal, async () => {
      const kept = await pruneStale(repository, tools)
      await ignoreWorktrees(repository, tools.git, tools.signal)
      const added = await addWorktree(repository, tools)
      return added.ok ? ok({ ...added.value, kept }) : added
    })
  } catch (error) {
    return unusable(`no worktree can be made in ${repository.root}: ${explainSystemError(error)}`)
  }
}

/** The worktree that lies at a path, for a conversation that goes on in it; undefined when there is none any more. */
export async function reopenWorktree(path: string, { git, signal }: Tools): Promise<Worktree | undefined> {
  if (!isWorktreePath(path) || !existsSync(path)) return undefined
  const found = await findRepository(dirname(dirname(path)), git, signal)
  if (!found.ok) return undefined
  const known = worktreeAt(basename(path), found.value)
  if (known.path !== path || !isRegistered(known)) return undefined
  return await withWorktreesLock(known.root, signal, async () => {
    if (!existsSync(path)) return undefined
    prepareGitFolders(known)
    enterWorktree(known)
    const included = await notInGit(includedNames(known), known, { git, signal })
    return { ...known, startedIn: "", included }
  })
}

async function notInGit(
  names: readonly string[],
  worktree: ReturnType<typeof worktreeAt>,
  { git, signal }: Pick<Tools, "git" | "signal">,
): Promise<readonly string[]> {
  if (names.length === 0) return []
  const call = { directory: worktree.path, signal, variables: gitVariables(worktree) }
  const kept = await git(["--literal-pathspecs", "ls-files", "-z", "--", ...names], call)
  const inGit = new Set(kept.text.split("\0"))
  return names.filter((name) => !inGit.has(name))
}

function folderProblem(root: string): string | undefined {
  const folder = join(root, WORKTREES)
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found !== undefined && !found.isDirectory())
    return `worktrees are made in ${folder}, which is not a directory; rename it`
  mkdirSync(folder, { recursive: true })
  return undefined
}

async function addWorktree(
  repository: Repository,
  { git, signal }: Tools,
): Promise<Result<Omit<OpenedWorktree, "kept">, RepositoryFailure>> {
  const known = worktreeAt(`hermes-${randomHex(4)}`, repository)
  const { root, head: base, startedIn } = repository
  const added = await git(["worktree", "add", "--quiet", "--no-track", "-b", known.branch, known.path, base], {
    directory: root,
    signal,
    timeoutMs: CREATE_MS,
  })
  try {
    if (!added.ok) throw new Error(added.problem)
    if (!isRegistered(known)) throw new Error("git keeps it under another name than expected")
    prepareGitFolders(known)
    enterWorktree(known)
    const { included, warnings } = takeOverIncluded(known)
    signal.throwIfAborted()
    return ok({ worktree: { ...known, base, startedIn, included }, warnings })
  } catch (error) {
    await undo(known, git)
    return unusable(`no worktree can be made in ${root}: ${explainSystemError(error)}${hint(repository)}`)
  }
}

/** What git makes when it is needed must be there before: a sandbox can only open what exists. */
function prepareGitFolders({
  commonDirectory,
  ownDirectory,
}: Pick<Worktree, "commonDirectory" | "ownDirectory">): void {
  mkdirSync(join(commonDirectory, "refs", "heads", "hermes"), { recursive: true })
  mkdirSync(join(commonDirectory, "logs", "refs", "heads", "hermes"), { recursive: true })
  mkdirSync(join(ownDirectory, "logs"), { recursive: true })
  const settings = join(ownDirectory, "config.worktree")
  if (!existsSync(settings)) writeFileSync(settings, "")
}

/** All branches below `hermes/` are impossible while there is one of that name. */
function hint({ commonDirectory }: Repository): string {
  const found = lstatSync(join(commonDirectory, "refs", "heads", "hermes"), { throwIfNoEntry: false })
  return found?.isFile() === true ? "; rename the branch hermes, worktrees use branches below that name" : ""
}

async function undo(worktree: ReturnType<typeof worktreeAt>, git: Git): Promise<void> {
  const options = { directory: worktree.root, signal: AbortSignal.timeout(UNDO_MS) }
  await git(["worktree", "remove", "--force", "--force", worktree.path], options)
  rmSync(worktree.path, { recursive: true, force: true })
  rmSync(worktree.ownDirectory, { recursive: true, force: true })
  await git(["branch", "-D", "--quiet", worktree.branch], options)
}

function unusable(message: string): { readonly ok: false; readonly error: RepositoryFailure } {
  return fail({ kind: "unusable", message })
}
