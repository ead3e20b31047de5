import { lstatSync } from "node:fs"

/**
 * What tells the files and directories that the arguments of a sandbox name from others of the same name: a mount sits on the thing
 * itself, and falls off when another one takes its name.
 */
export function placeMarks(words: readonly string[]): readonly string[] {
  return [...new Set(words)].filter((word) => word.startsWith("/")).map(markOf)
}

function markOf(path: string): string {
  const facts = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (facts === undefined) return ""
  // The number of a removed file is given to the next one. Where the time of birth is unknown, any change will do.
  return `${facts.dev}:${facts.ino}:${facts.birthtimeNs === 0n ? facts.ctimeNs : facts.birthtimeNs}`
}
