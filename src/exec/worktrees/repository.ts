import { existsSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Git, GitCallOptions } from "./git.ts"
import { isWorktreeName, WORKTREES_DIRECTORY } from "./worktree.ts"

/** A repository in which worktrees can be created. */
export interface Repository {
  /** The user's checkout; worktrees are created below it. */
  readonly root: string
  readonly commonDirectory: string
  /** The commit that is checked out in the user's directory. */
  readonly head: string
  /** The user's directory relative to the checkout; empty at its root. */
  readonly subdirectory: string
}

export type RepositoryFailure =
  | { readonly kind: "outside"; readonly message: string }
  /** There is a repository, but it does not allow worktrees; the message says what to do. */
  | { readonly kind: "unusable"; readonly message: string }

type Found<T> = Result<T, RepositoryFailure>

export async function findRepository(directory: string, git: Git, signal: AbortSignal): Promise<Found<Repository>> {
  const checkout = await findCheckout(directory, git, signal)
  if (!checkout.ok) return checkout
  const head = await readHead(checkout.value, git, { directory, signal })
  if (!head.ok) return head
  const { top, commonDirectory } = checkout.value
  const subdirectory = relative(top, directory)
  return ok({
    root: mainCheckout(top),
    commonDirectory,
    head: head.value,
    subdirectory: subdirectory.startsWith("..") ? "" : subdirectory,
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
  if (kind.notInstalled) return unusable("a worktree needs git, which cannot be started; install it")
  if (!kind.ok) {
    const repository = repositoryAbove(directory)
    return repository === undefined
      ? fail({ kind: "outside", message: `${directory} is not in a git repository; change to one` })
      : unusable(`git cannot read the repository at ${repository}: ${kind.problem}`)
  }
  const [isBare, isInside, ...common] = kind.text.split("\n")
  if (isInside !== "true") {
    return unusable(
      isBare === "true"
        ? `${directory} is a bare repository without a checkout; clone it, or change to one of its worktrees`
        : `${directory} is inside a .git directory; change to the checkout`,
    )
  }
  const top = await git(["rev-parse", "--show-toplevel"], { directory, signal })
  if (!top.ok) return unusable(`git cannot find the top directory of the checkout at ${directory}: ${top.problem}`)
  return ok({ top: top.text, commonDirectory: resolve(directory, common.join("\n")) })
}

async function readHead({ commonDirectory }: Checkout, git: Git, call: GitCallOptions): Promise<Found<string>> {
  const head = await git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], call)
  if (head.ok) return ok(head.text)
  const branch = await git(["symbolic-ref", "--quiet", "HEAD"], call)
  return branch.ok && !refExists(branch.text, commonDirectory)
    ? unusable(`the branch ${branch.text.replace("refs/heads/", "")} has no commits yet; create one first`)
    : unusable("git cannot read HEAD, the commit that is checked out; check it with `git status` and `git fsck`")
}

/** A repository of a large team has some hundred thousand references. */
const MAX_PACKED_REFS_BYTES = 100_000_000

function refExists(ref: string, commonDirectory: string): boolean {
  if (existsSync(join(commonDirectory, ref))) return true
  const packed = readRegularText(join(commonDirectory, "packed-refs"), { maxBytes: MAX_PACKED_REFS_BYTES })
  return packed?.includes(` ${ref}\n`) === true
}

/** Inside a worktree that Hermes created, a new one is created next to it, not nested. */
function mainCheckout(top: string): string {
  const parent = dirname(top)
  return isWorktreeName(basename(top)) && basename(parent) === WORKTREES_DIRECTORY ? dirname(parent) : top
}

function repositoryAbove(directory: string): string | undefined {
  for (let ancestor = directory; ; ancestor = dirname(ancestor)) {
    if (existsSync(join(ancestor, ".git"))) return ancestor
    if (dirname(ancestor) === ancestor) return undefined
  }
}

function unusable(message: string): { readonly ok: false; readonly error: RepositoryFailure } {
  return fail({ kind: "unusable", message })
}
