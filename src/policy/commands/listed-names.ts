import { posix } from "node:path"
import type { UnderstoodCommand } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { holdsCredentials, isCredentialPath } from "./credential-paths.ts"
import { pathClass } from "./path-classes.ts"

/** The names that matter in the files from which a line takes words, by path. Files without such names are left out. */
export function listedNames(
  { lists, after }: UnderstoodCommand,
  facts: CommandFacts,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const path of lists) {
    const text = after.files?.get(path) ?? facts.texts?.get(path)
    const names = text === undefined ? [] : namesThatMatter(text, facts)
    if (names.length > 0) found.set(path, names)
  }
  return found
}

/** The line may use only a part of the text, in another order or from another directory, so every name in it counts. */
function namesThatMatter(text: string, facts: CommandFacts): readonly string[] {
  const start = text.slice(0, MAX_TEXT)
  const names = new Set([...start.split(/[\n\0]/u), ...start.split(/[\s\0"'`,;|<>()[\]{}=]+/u)])
  const ranked: { readonly name: string; readonly rank: number }[] = []
  let count = 0
  for (const name of names) {
    if (name === "" || name.length > MAX_NAME) continue
    count += 1
    const rank = count > MAX_NAMES ? 0 : rankOf(name.trim(), facts)
    if (rank > 0) ranked.push({ name: name.trim(), rank })
  }
  return ranked
    .toSorted((one, other) => other.rank - one.rank)
    .slice(0, MOST_KEPT)
    .map(({ name }) => name)
}

/** Keys and logins first: reading, writing and deleting them is asked about. */
function rankOf(name: string, facts: CommandFacts): number {
  if (name.startsWith("-")) return name.length > 2 ? 1 : 0
  const paths = name.startsWith("/")
    ? [posix.normalize(name)]
    : [facts.workspaceRoot, facts.userHome].map((directory) => posix.join(directory, name))
  if (paths.some((path) => isCredentialPath(path, facts))) return 4
  if (name.startsWith("/") && paths.some((path) => holdsCredentials(path, facts))) return 3
  return paths.some((path) => pathClass(path, facts) !== undefined) ? 2 : 0
}

const MAX_TEXT = 200_000
const MAX_NAME = 4096
const MAX_NAMES = 4000
const MOST_KEPT = 6
