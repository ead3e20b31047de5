import { join } from "node:path"

import { namesIn } from "./directory-names.ts"

/** Replaces names with `*` by what exists in the home. `*` stands for a part of one component. */
export function expandNames(home: string, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => (name.includes("*") ? matching(home, "", name.split("/")) : [name]))
}

function matching(home: string, below: string, [first, ...rest]: readonly string[]): readonly string[] {
  if (first === undefined) return [below]
  if (!first.includes("*")) return matching(home, join(below, first), rest)
  const [start = "", end = ""] = first.split("*")
  return namesIn(join(home, below))
    .filter((name) => name.startsWith(start) && name.endsWith(end) && name.length >= start.length + end.length)
    .flatMap((name) => matching(home, join(below, name), rest))
}
