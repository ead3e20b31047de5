import { posix } from "node:path"
import { isWithin } from "../file-floor.ts"
import type { ShellWord } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { holdsCredentials, isCredentialDirectory, isCredentialPath } from "./credential-paths.ts"

const NONE: readonly string[] = []
const ANYWHERE = "/**/"

/** The paths that a word may be because a program prints names that it was given. Of what is below a directory, the protected files. */
export function pathsFromPrograms({ names }: ShellWord, facts: CommandFacts): readonly string[] {
  if (names?.paths === undefined) return NONE
  return names.paths.flatMap((path) => {
    const at = path.indexOf(ANYWHERE)
    if (at === -1) return path.endsWith("/") ? below(path.slice(0, -1), SAMPLES, facts) : path
    const name = path.slice(at + ANYWHERE.length)
    return below(path.slice(0, at), name === "*" ? SAMPLES : [name], facts)
  })
}

/** Files of these names in the directories of the account, as far as they are below this one. */
function below(directory: string, names: readonly string[], facts: CommandFacts): readonly string[] {
  const homes = [facts.userHome, `${facts.userHome}/.ssh`, facts.hermesHome, facts.hermesRoot]
  return homes.flatMap((home) => (isWithin(home, directory) ? names.map((name) => posix.join(home, name)) : []))
}

const SAMPLES = [".bashrc", "authorized_keys"]

/** A path like the new one that the word is: `$(mktemp -d)`, or a variable with that value. */
export function createdPath({ known, names }: ShellWord): string | undefined {
  const path = !known && names?.isComplete === true ? names.paths?.[0] : undefined
  return path?.includes(ANYWHERE) === true ? undefined : path
}

/** A file of the project that `git ls-files` or `find` lists, other than in a directory whose name begins with a dot. */
export function isListedFile(
  { known, names }: ShellWord,
  directory: string | undefined,
  { workspaceRoot }: CommandFacts,
): boolean {
  if (known || names?.isComplete !== true || names.paths === undefined) return false
  // The names are relative to the directory in which they were listed.
  if (directory === undefined || !isWithin(directory, workspaceRoot)) return false
  return names.paths.every((path) => {
    const at = path.indexOf(ANYWHERE)
    const start = path.slice(0, at)
    return at !== -1 && isWithin(start, workspaceRoot) && !start.slice(workspaceRoot.length).includes("/.")
  })
}

/** A program got a path of the account and prints another one. */
export function isEditedPath({ names }: ShellWord, { userHome, workspaceRoot }: CommandFacts): boolean {
  if (names?.isEdited !== true) return false
  return names.paths?.some((path) => isWithin(path, userHome) && !isWithin(path, workspaceRoot)) === true
}

/** A file with keys or logins whose name a program may print. What `find` prints has rules of its own. */
export function printedCredential(word: ShellWord, facts: CommandFacts): string | undefined {
  if (isEditedPath(word, facts)) return facts.userHome
  return word.names?.paths?.find((path) => {
    if (path.includes(ANYWHERE)) return false
    if (path.endsWith("/")) return holdsCredentials(path.slice(0, -1) || "/", facts)
    return isCredentialPath(path, facts) || isCredentialDirectory(path, facts)
  })
}
