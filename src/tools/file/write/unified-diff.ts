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

/** Splitting a large text into lines takes many times its memory, so equal lines at its beginning and end are left out first. */
const MIN_TRIMMED_CHARS = 1_000_000

function findHunks(before: string, after: string): readonly StructuredPatchHunk[] {
  if (before.length + after.length < MIN_TRIMMED_CHARS) return diffLines(before, after)
  const head = startOfChange(before, after)
  const tail = endOfChange(before, after, head)
  const lines = countLines(before, head)
  return diffLines(before.slice(head, before.length - tail), after.slice(head, after.length - tail)).map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + lines,
    newStart: hunk.newStart + lines,
  }))
}

/** Where the context of the first difference begins: the start of a line. */
function startOfChange(before: string, after: string): number {
  const shorter = Math.min(before.length, after.length)
  let at = 0
  while (at < shorter && before.charCodeAt(at) === after.charCodeAt(at)) at += 1
  for (let line = 0; line <= CONTEXT_LINES; line += 1) at = at <= 0 ? 0 : before.lastIndexOf("\n", at - 1)
  return Math.max(0, at + (at > 0 ? 1 : 0))
}

/** How many characters after the context of the last difference are equal: whole lines. */
function endOfChange(before: string, after: string, head: number): number {
  const most = Math.min(before.length, after.length) - head
  let length = 0
  while (length < most && before.charCodeAt(before.length - 1 - length) === after.charCodeAt(after.length - 1 - length))
    length += 1
  let at = before.length - length
  for (let line = 0; line <= CONTEXT_LINES; line += 1) {
    const feed = before.indexOf("\n", at)
    if (feed === -1) return 0
    at = feed + 1
  }
  return before.length - at
}

function countLines(text: string, end: number): number {
  let lines = 0
  for (let at = text.indexOf("\n"); at !== -1 && at < end; at = text.indexOf("\n", at + 1)) lines += 1
  return lines
}

function diffLines(before: string, after: string): readonly StructuredPatchHunk[] {
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
