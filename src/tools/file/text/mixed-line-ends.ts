import { diffArrays } from "diff"

import type { Edit } from "./text-edit.ts"

export type LineEnd = "\n" | "\r\n"

/** A text with LF line endings, and the ending that each of its lines has in the file. */
export interface LineEnds {
  readonly text: string
  /** The stored ending of the line feed at an offset of `text`. */
  endAt(offset: number): LineEnd
}

/**
 * Extends edits to whole lines and gives every line feed its ending: lines that stay keep theirs, a replaced line passes its own on, and
 * further new lines take that of the line above. Edits on the same line become one.
 */
export function withLineEnds(edits: readonly Edit[], file: LineEnds): readonly Edit[] {
  return groupByLine(edits, file.text).map(({ start, end, edits: grouped }) => {
    const before = file.text.slice(start, end).split("\n")
    const after = spliceFrom(file.text, { start, end }, grouped).split("\n")
    const ends = endsOf(after, before, { file, start, end })
    const text = after
      .map((line, index) => (index < after.length - 1 ? `${line}${ends[index] ?? "\n"}` : line))
      .join("")
    return { start, end, text }
  })
}

interface LineGroup {
  readonly start: number
  end: number
  readonly edits: Edit[]
}

function groupByLine(edits: readonly Edit[], text: string): readonly LineGroup[] {
  const groups: LineGroup[] = []
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    const start = edit.start === 0 ? 0 : text.lastIndexOf("\n", edit.start - 1) + 1
    const next = text.indexOf("\n", edit.end)
    const end = next === -1 ? text.length : next
    const last = groups.at(-1)
    if (last !== undefined && start <= last.end) {
      last.end = Math.max(last.end, end)
      last.edits.push(edit)
    } else groups.push({ start, end, edits: [edit] })
  }
  return groups
}

function spliceFrom(text: string, { start, end }: Pick<LineGroup, "start" | "end">, edits: readonly Edit[]): string {
  const parts: string[] = []
  let at = start
  for (const edit of edits) {
    parts.push(text.slice(at, edit.start), edit.text)
    at = edit.end
  }
  return parts.join("") + text.slice(at, end)
}

interface Surroundings extends Pick<LineGroup, "start" | "end"> {
  readonly file: LineEnds
}

function endsOf(
  after: readonly string[],
  before: readonly string[],
  { file, start, end }: Surroundings,
): readonly LineEnd[] {
  const above = start > 0 ? file.endAt(start - 1) : undefined
  const below = end < file.text.length ? file.endAt(end) : undefined
  const oldEnds = oldLineEnds(before, { file, start, end })
  const fallback = above ?? below ?? oldEnds.find((found) => found !== undefined) ?? "\n"
  const ends: LineEnd[] = []
  for (const source of sourcesOf(before, after)) {
    const own = source === undefined ? undefined : oldEnds[source]
    ends.push(own ?? ends.at(-1) ?? fallback)
  }
  return ends
}

/** The ending of each old line; the last line of the file may have none. */
function oldLineEnds(before: readonly string[], { file, start }: Surroundings): readonly (LineEnd | undefined)[] {
  let at = start
  return before.map((line) => {
    at += line.length + 1
    return at - 1 < file.text.length ? file.endAt(at - 1) : undefined
  })
}

/** More differences than this are compared line by line: the time for the search grows with their square. */
const MAX_DIFFERENCES = 1000

/** For each new line the index of the old line that it keeps or replaces. */
function sourcesOf(before: readonly string[], after: readonly string[]): readonly (number | undefined)[] {
  const changes = diffArrays([...before], [...after], { maxEditLength: MAX_DIFFERENCES })
  if (changes === undefined) return after.map((_line, index) => (index < before.length ? index : undefined))
  const sources: (number | undefined)[] = []
  let oldAt = 0
  let replaced: number[] = []
  for (const { added, removed, value } of changes) {
    if (removed) {
      replaced = value.map((_line, index) => oldAt + index)
      oldAt += value.length
    } else if (added) {
      for (const [index] of value.entries()) sources.push(replaced[index])
      replaced = []
    } else {
      for (const _line of value) sources.push(oldAt++)
      replaced = []
    }
  }
  return sources
}
