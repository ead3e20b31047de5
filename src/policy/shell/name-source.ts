import type { NameSource, ShellWord } from "./understood-command.ts"

/** Names of which the line says nothing. */
export const HIDDEN_NAMES: NameSource = { files: [], isHidden: true }

/** The same names, where they may be a part of something else or one of several possibilities. */
export function asPart(names: NameSource | undefined): NameSource | undefined {
  if (names?.isComplete !== true) return names
  const { isComplete: _, ...rest } = names
  return rest
}

/** Both sources at once. */
export function joinNames(one: NameSource | undefined, other: NameSource | undefined): NameSource | undefined {
  if (one === undefined || other === undefined) return asPart(one ?? other)
  if (one === other) return one
  const files = [...new Set([...one.files, ...other.files])]
  const paths = [...new Set([...(one.paths ?? []), ...(other.paths ?? [])])]
  return {
    files: files.slice(0, MOST_FILES),
    isHidden: one.isHidden || other.isHidden || files.length > MOST_FILES,
    ...(paths.length === 0 ? {} : { paths: paths.slice(0, MOST_FILES) }),
    ...(one.isEdited === true || other.isEdited === true ? { isEdited: true } : {}),
  }
}

const MOST_FILES = 20

/** The sources of several words. */
export function wordNames(words: readonly ShellWord[]): NameSource | undefined {
  let names: NameSource | undefined
  for (const word of words) names = joinNames(names, word.names)
  return names
}
