import { structuredPatch } from "diff"
import type { StructuredPatchHunk } from "diff"

export interface DiffSides {
  /** The text before; undefined for a new file. */
  readonly before: string | undefined
  /** The text afterwards; undefined for a deleted file. */
  readonly after: string | undefined
  /** The previous name of a moved file. */
  readonly movedFrom?: string
}

const CONTEXT_LINES = 3

/** More differences than this are shown as one replaced block: the time for the search grows with their square. */
const MAX_DIFFERENCES = 1000

/** The change of one file as a unified diff, or "" when there is none. Differences between CRLF and LF are ignored. */
export function unifiedDiff(name: string, { before, after, movedFrom }: DiffSides): string {
  const hunks = findHunks(withLf(before ?? ""), withLf(after ?? ""))
  if (hunks.length === 0 && movedFrom === undefined && before !== undefined && after !== undefined) return ""
  // `formatPatch` of the package would write non-ASCII file names as octal escapes.
  const header = [
    `--- ${before === undefined ? "/dev/null" : `a/${relativeName(movedFrom ?? name)}`}`,
    `+++ ${after === undefined ? "/dev/null" : `b/${relativeName(name)}`}`,
  ]
  return [...header, ...hunks.flatMap((hunk) => [hunkHeader(hunk), ...hunk.lines])].join("\n") + "\n"
}

function withLf(text: string): string {
  return text.replaceAll("\r\n", "\n")
}

function relativeName(name: string): string {
  return name.replace(/^\/+/, "")
}

function findHunks(before: string, after: string): readonly StructuredPatchHunk[] {
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_DIFFERENCES }
  const patch = structuredPatch("", "", before, after, undefined, undefined, options)
  return patch?.hunks ?? [wholeBlock(linesOf(before), linesOf(after))]
}

/** One hunk that replaces everything between the first and the last difference. */
function wholeBlock(before: readonly string[], after: readonly string[]): StructuredPatchHunk {
  const shorter = Math.min(before.length, after.length)
  let head = 0
  while (head < shorter && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  const start = Math.max(0, head - CONTEXT_LINES)
  const oldEnd = before.length - tail
  const newEnd = after.length - tail
  const contextAfter = Math.min(CONTEXT_LINES, tail)
  return {
    oldStart: start + 1,
    oldLines: oldEnd + contextAfter - start,
    newStart: start + 1,
    newLines: newEnd + contextAfter - start,
    lines: [
      ...prefixed(" ", before.slice(start, head)),
      ...prefixed("-", before.slice(head, oldEnd)),
      ...prefixed("+", after.slice(head, newEnd)),
      ...prefixed(" ", before.slice(oldEnd, oldEnd + contextAfter)),
    ],
  }
}

/** Lines with their line feeds, so that a last line without one differs from the same line with one. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/gu) ?? []
}

function prefixed(prefix: string, lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? [prefix + line.slice(0, -1)] : [prefix + line, "\\ No newline at end of file"],
  )
}

function hunkHeader({ oldStart, oldLines, newStart, newLines }: StructuredPatchHunk): string {
  return `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`
}

/** An empty range names the line before it. */
function range(start: number, count: number): string {
  return count === 1 ? `${start}` : `${count === 0 ? start - 1 : start},${count}`
}
