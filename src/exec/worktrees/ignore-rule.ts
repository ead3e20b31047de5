import { appendFileSync, lstatSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

import type { Git } from "./git.ts"
import type { Repository } from "./repository.ts"
import { WORKTREES_DIRECTORY } from "./worktree.ts"

/** Makes git ignore the directory of worktrees, if it does not already. */
export async function ignoreWorktrees(repository: Repository, git: Git, signal: AbortSignal): Promise<void> {
  const { root, commonDirectory } = repository
  const ignored = await git(["check-ignore", "--quiet", join(root, WORKTREES_DIRECTORY, "hermes-00000000")], {
    directory: root,
    signal,
  })
  if (ignored.ok) return
  const rules = join(root, ".gitignore")
  const found = lstatSync(rules, { throwIfNoEntry: false })
  // Git does not follow a linked .gitignore, and the link's target must not be changed.
  if (found === undefined || found.isFile()) addLine(rules)
  else addLine(join(commonDirectory, "info", "exclude"))
}

function addLine(file: string): void {
  mkdirSync(dirname(file), { recursive: true })
  const found = lstatSync(file, { throwIfNoEntry: false })
  const before = found === undefined ? "" : readFileSync(file, "latin1")
  const lineEnding = before.includes("\r\n") ? "\r\n" : "\n"
  appendFileSync(
    file,
    `${before === "" || before.endsWith("\n") ? "" : lineEnding}${WORKTREES_DIRECTORY}/${lineEnding}`,
  )
}
