import { comparable } from "./directory-names.ts"
import type { NameLookup } from "./name-lookup.ts"

/** Names below a directory that start with the same directory or file, so that most of them need no look-up of their own. */
export interface NamesByTop {
  readonly top: string
  readonly names: readonly string[]
  readonly comparableTop: string
}

export function groupByTop(names: readonly string[]): readonly NamesByTop[] {
  const groups = Map.groupBy(names, (name) => name.split("/", 1)[0] ?? name)
  return Array.from(groups, ([top, inTop]) => ({ top, names: inTop, comparableTop: comparable(top) }))
}

/** Leaves out the groups of which nothing exists in the directory. A top with `*` is never left out. */
export function possibleGroups<Group extends NamesByTop>(
  groups: readonly Group[],
  directory: string,
  lookup: NameLookup,
): readonly Group[] {
  const present = lookup.namesIn(directory)
  if (present === undefined) return groups
  return groups.filter(({ comparableTop }) => present.has(comparableTop) || comparableTop.includes("*"))
}
