import { existsSync, readFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Git, GitCall } from "./git.ts"
import { isWorktreeName, WORKTREES } from "./worktree.ts"

/** A repository with something to make a worktree from. */
export interface Repository {
  /** The checkout that the person works in; worktrees are made below it. */
  readonly root: string
  readonly commonDirectory: string
  /** The commit that is checked out where the person is. */
  readonly head: string
  /** Where in the checkout the person is; empty at its root. */
  readonly startedIn: string
}

export type RepositoryFailure =
  | { readonly kind: "outside"; readonly message: string }
  /** There is a repository, and no worktree can be made in it; the message names what to do. */
  | { readonly kind: "unusable"; readonly message: string }

type Found<T> = Result<T, RepositoryFailure>

export async function findRepository(directory: string, git: Git, signal: AbortSignal): Promise<Found<Repository>> {
  const place = await findCheckout(directory, git, signal)
  if (!place.ok) return place
  const head = await readHead(place.value, git, { directory, signal })
  if (!head.ok) return head
  const { top, commonDirectory } = place.value
  const startedIn = relative(top, directory)
  return ok({
    root: outermost(top),
    commonDirectory,
    head: head.value,
    startedIn: startedIn.startsWith("..") ? "" : startedIn,
  })
}

interface Checkout {
  readonly top: string
  readonly commonDirectory: string
}

async function findCheckout(directory: string, git: Git, signal: AbortSignal): Promise<Found<Checkout>> {
  const kind = await git(["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--git-common-dir"], {
    directory,
    signal,
  })
  if (kind.notInstalled) return unusable("a worktree needs git, which cannot be started here; install it")
  if (!kind.ok) {
    const repository = repositoryAbove(directory)
    return repository === undefined
      ? fail({ kind: "outside", message: `${directory} is in no git repository; go to one` })
      : unusable(`git cannot read the repository at ${repository}: ${kind.problem}`)
  }
  const [isBare, isInside, ...common] = kind.text.split("\n")
  if (isInside !== "true") {
    return unusable(
      isBare === "true"
        ? `${directory} is a bare repository, without files to work on; clone it, or go to one of its worktrees`
        : `${directory} is inside the files that git keeps for itself; go to the checkout`,
    )
  }
  const top = await git(["rev-parse", "--show-toplevel"], { directory, signal })
  if (!top.ok) return unusable(`git cannot say where the checkout of ${directory} begins: ${top.problem}`)
  return ok({ top: top.text, commonDirectory: resolve(directory, common.join("\n")) })
}

async function readHead({ commonDirectory }: Checkout, git: Git, call: GitCall): Promise<Found<string>> {
  const head = await git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], call)
  if (head.ok) return ok(head.text)
  const branch = await git(["symbolic-ref", "--quiet", "HEAD"], call)
  return branch.ok && !refExists(branch.text, commonDirectory)
    ? unusable(`the branch ${branch.text.replace("refs/heads/", "")} has no commit yet; make a first one`)
    : unusable("git cannot read HEAD, the commit that is checked out; look at it with `git status` and `git fsck`")
}

function refExists(ref: string, commonDirectory: string): boolean {
  if (existsSync(join(commonDirectory, ref))) return true
  try {
    return readFileSync(join(commonDirectory, "packed-refs"), "utf8").includes(` ${ref}\n`)
  } catch {
    // No references are packed.
    return false
  }
}

/** From inside one of our own worktrees another one is made beside it, not in it. */
function outermost(top: string): string {
  const folder = dirname(top)
  return isWorktreeName(basename(top)) && basename(folder) === WORKTREES ? dirname(folder) : top
}

function repositoryAbove(directory: string): string | undefined {
  for (let place = directory; ; place = dirname(place)) {
    if (existsSync(join(place, ".git"))) return place
    if (dirname(place) === place) return undefined
  }
}

function unusable(message: string): { readonly ok: false; readonly error: RepositoryFailure } {
  return fail({ kind: "unusable", message })
}
