import { existsSync } from "node:fs"
import { join } from "node:path"

import type { Git } from "./git.ts"
import { unmodifiedIncludedFiles } from "./included-files.ts"
import { gitVariables } from "./worktree.ts"
import type { Worktree, WorktreeLocation } from "./worktree.ts"

/** What removing a worktree would lose. */
export type UnsavedWork =
  | { readonly kind: "none"; readonly includedFiles: readonly string[] }
  | { readonly kind: "some"; readonly changes: number; readonly commits: number }
  /** It could not be determined, so the worktree is kept. */
  | { readonly kind: "unknown"; readonly problem: string }

type InspectedWorktree = WorktreeLocation & Pick<Worktree, "base">

/** Finds changed and new files, and commits that no other branch, tag or remote contains. */
export async function findUnsavedWork(
  worktree: InspectedWorktree,
  git: Git,
  signal: AbortSignal,
): Promise<UnsavedWork> {
  // Git stores the history of submodules with the worktree, and removing it would delete them.
  if (existsSync(join(worktree.gitDirectory, "modules")))
    return { kind: "unknown", problem: "submodules were initialized in it" }
  const call = { directory: worktree.path, signal, variables: gitVariables(worktree) }
  const staged = await git(["ls-files", "--stage", "-z"], call)
  if (!staged.ok) return { kind: "unknown", problem: staged.problem }
  // `git status` reads the settings of a nested repository and runs the programs they name; a command may have written them.
  if (submodulesIn(staged.text).some((name) => existsSync(join(worktree.path, name, ".git"))))
    return { kind: "unknown", problem: "it contains submodules with files" }
  const status = await git(["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all"], call)
  if (!status.ok) return { kind: "unknown", problem: status.problem }
  const unmodified = new Set(unmodifiedIncludedFiles(worktree))
  const changed = changedPaths(status.text)
  const included = changed.filter(({ isNew, path }) => isNew && unmodified.has(path))
  const changes = changed.length - included.length
  const commits = await countUnmergedCommits(worktree, git, signal)
  if (typeof commits === "string") return { kind: "unknown", problem: commits }
  return changes === 0 && commits === 0
    ? { kind: "none", includedFiles: included.map(({ path }) => path) }
    : { kind: "some", changes, commits }
}

/** Parses entries of the form `mode object stage<tab>path`. */
function submodulesIn(staged: string): readonly string[] {
  const entries = staged.split("\0").filter((entry) => entry.startsWith("160000 "))
  return entries.map((entry) => entry.slice(entry.indexOf("\t") + 1))
}

const MAX_COUNTED = 1000

/** Returns the number, or an error message. */
export async function countUnmergedCommits(
  worktree: InspectedWorktree,
  git: Git,
  signal: AbortSignal,
): Promise<number | string> {
  const { branch, base, root, commonDirectory } = worktree
  const variables = existsSync(worktree.path) ? gitVariables(worktree) : { GIT_DIR: commonDirectory }
  const call = { directory: existsSync(worktree.path) ? worktree.path : root, signal, variables }
  const ref = `refs/heads/${branch}`
  const branchTip = await git(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`], call)
  const tips = [...(existsSync(worktree.path) ? ["HEAD"] : []), ...(branchTip.ok ? [ref] : [])]
  if (tips.length === 0) return 0
  const elsewhere = [`--exclude=${branch}`, "--branches", "--tags", "--remotes", "main-worktree/HEAD"]
  const counted = await git(
    [
      "rev-list",
      "--count",
      `--max-count=${MAX_COUNTED}`,
      ...tips,
      "--not",
      ...elsewhere,
      ...(base === undefined ? [] : [base]),
    ],
    call,
  )
  return counted.ok ? Number(counted.text) : counted.problem
}

interface ChangedPath {
  readonly path: string
  readonly isNew: boolean
}

/** After the entry of a renamed file, its former name follows as a separate entry. */
function changedPaths(status: string): readonly ChangedPath[] {
  const entries = status.split("\0").filter((entry) => entry !== "")
  const found: ChangedPath[] = []
  for (let index = 0; index < entries.length; index += 1) {
    const entry = entries[index] ?? ""
    found.push({ path: entry.slice(3), isNew: entry.startsWith("??") })
    if (/^[RC]|^.[RC]/u.test(entry)) index += 1
  }
  return found
}
