import { existsSync } from "node:fs"
import { join } from "node:path"

import type { Git } from "./git.ts"
import { includedNames } from "./included-files.ts"
import { gitVariables } from "./worktree.ts"
import type { Worktree } from "./worktree.ts"

/** What would be lost with a worktree. */
export type RemainingWork =
  | { readonly kind: "none"; readonly takenOver: readonly string[] }
  | { readonly kind: "some"; readonly changes: number; readonly commits: number }
  /** It could not be found out, so it counts as work. */
  | { readonly kind: "unknown"; readonly problem: string }

type Looked = Pick<Worktree, "path" | "branch" | "root" | "commonDirectory" | "ownDirectory"> & {
  readonly base?: string
}

/** Changed and new files, and commits that no other branch, tag or remote has. */
export async function remainingWork(worktree: Looked, git: Git, signal: AbortSignal): Promise<RemainingWork> {
  // Their own histories are kept with the worktree and would go with it.
  if (existsSync(join(worktree.ownDirectory, "modules")))
    return { kind: "unknown", problem: "submodules were set up in it" }
  const call = { directory: worktree.path, signal, variables: gitVariables(worktree) }
  const staged = await git(["ls-files", "--stage", "-z"], call)
  if (!staged.ok) return { kind: "unknown", problem: staged.problem }
  // A repository inside has settings of its own, perhaps a command's, and git would run the programs that they name.
  if (submodulesIn(staged.text).some((name) => existsSync(join(worktree.path, name, ".git"))))
    return { kind: "unknown", problem: "there are submodules with files in it" }
  const status = await git(["status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all"], call)
  if (!status.ok) return { kind: "unknown", problem: status.problem }
  const named = new Set(includedNames(worktree))
  const changed = changedPaths(status.text)
  const takenOver = changed.filter(({ isNew, path }) => isNew && named.has(path))
  const changes = changed.length - takenOver.length
  const commits = await unsharedCommits(worktree, git, signal)
  if (typeof commits === "string") return { kind: "unknown", problem: commits }
  return changes === 0 && commits === 0
    ? { kind: "none", takenOver: takenOver.map(({ path }) => path) }
    : { kind: "some", changes, commits }
}

/** Of the entries `mode object stage<tab>path`. */
function submodulesIn(staged: string): readonly string[] {
  const entries = staged.split("\0").filter((entry) => entry.startsWith("160000 "))
  return entries.map((entry) => entry.slice(entry.indexOf("\t") + 1))
}

const MAX_COUNTED = 1000

/** How many, or why that cannot be said. */
export async function unsharedCommits(worktree: Looked, git: Git, signal: AbortSignal): Promise<number | string> {
  const { branch, base, root, commonDirectory } = worktree
  const variables = existsSync(worktree.path) ? gitVariables(worktree) : { GIT_DIR: commonDirectory }
  const call = { directory: existsSync(worktree.path) ? worktree.path : root, signal, variables }
  const own = `refs/heads/${branch}`
  const named = await git(["rev-parse", "--verify", "--quiet", `${own}^{commit}`], call)
  const tips = [...(existsSync(worktree.path) ? ["HEAD"] : []), ...(named.ok ? [own] : [])]
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

/** Of a renamed file the former name follows as an entry of its own. */
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
