import { appendFileSync, lstatSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
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
  const before = readRegularText(file, { encoding: "latin1" })
  // A named pipe, for example: writing to it would wait for a reader.
  if (before === undefined && lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw new Error(`${file} is not a regular file that can be read`)
  const lineEnding = before?.includes("\r\n") === true ? "\r\n" : "\n"
  appendFileSync(
    file,
    `${before === undefined || before === "" || before.endsWith("\n") ? "" : lineEnding}${WORKTREES_DIRECTORY}/${lineEnding}`,
  )
}
