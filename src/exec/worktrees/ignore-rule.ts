import { appendFileSync, lstatSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

import type { Git } from "./git.ts"
import type { Repository } from "./repository.ts"
import { WORKTREES } from "./worktree.ts"

/** Worktrees are no part of the project: git is told so where it does not know yet. */
export async function ignoreWorktrees(repository: Repository, git: Git, signal: AbortSignal): Promise<void> {
  const { root, commonDirectory } = repository
  const ignored = await git(["check-ignore", "--quiet", join(root, WORKTREES, "hermes-00000000")], {
    directory: root,
    signal,
  })
  if (ignored.ok) return
  const rules = join(root, ".gitignore")
  const found = lstatSync(rules, { throwIfNoEntry: false })
  // Git follows no link there, and what a link leads to is not ours to change.
  if (found === undefined || found.isFile()) addLine(rules)
  else addLine(join(commonDirectory, "info", "exclude"))
}

function addLine(file: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const found = lstatSync(file, { throwIfNoEntry: false })
  const before = found === undefined ? "" : readFileSync(file, "latin1")
  const lineEnd = before.includes("\r\n") ? "\r\n" : "\n"
  appendFileSync(file, `${before === "" || before.endsWith("\n") ? "" : lineEnd}${WORKTREES}/${lineEnd}`)
}
