import { posix } from "node:path"
import { isWithin } from "../file-floor.ts"
import type { CommandFacts } from "./command-verdict.ts"

/** The file in which git lists the files of the workspace that it tracks. */
export function gitIndexPath({ workspaceRoot }: Pick<CommandFacts, "workspaceRoot">): string {
  return posix.join(workspaceRoot, ".git/index")
}

/**
 * True for a file that git tracks. In the index, each name follows its length in the last bits of a number, so that a part of a longer name is not
 * taken for a name. Where the index cannot be read or compresses names, the answer is no.
 */
export function isInGitIndex(path: string, facts: CommandFacts): boolean {
  const index = facts.texts?.get(gitIndexPath(facts))
  if (index === undefined || !isWithin(path, facts.workspaceRoot)) return false
  const name = posix.relative(facts.workspaceRoot, path)
  if (name === "" || name.length > LONGEST_NAME) return false
  return index.includes(`${String.fromCharCode(name.length)}${name}\0`)
}

/** The text was decoded as UTF-8, in which larger bytes have other forms. */
const LONGEST_NAME = 127
