import { withLineEnds } from "./mixed-line-ends.ts"
import type { LineEnd } from "./mixed-line-ends.ts"
import type { Edit, TextRegion } from "./text-edit.ts"

/** A file's text with LF line endings for editing, and its mapping to the stored text. */
export interface EditableText {
  readonly text: string
  /** The stored text of a region. */
  stored(region: TextRegion): string
  /** The whole file with non-overlapping edits applied. Everything else stays byte for byte the same. */
  edited(edits: readonly Edit[]): string
}

/** Treats CRLF as one character. Lines that an edit leaves alone keep their ending, new lines take that of their neighbours. */
export function editableText(raw: string): EditableText {
  if (!raw.includes("\r\n")) return verbatimText(raw)
  const text = raw.replaceAll("\r\n", "\n")
  const returns = positionsOfReturns(raw)
  const rawOffset = (offset: number): number => offset + countBelow(returns, offset)
  const endAt = (offset: number): LineEnd => (returns[countBelow(returns, offset)] === offset ? "\r\n" : "\n")
  return {
    text,
    stored: ({ start, end }) => raw.slice(rawOffset(start), rawOffset(end)),
    edited: (edits) => {
      // The CR of a last line belongs to the line ending after the region.
      const plain = edits.map((edit) => ({ ...edit, text: edit.text.replaceAll(/\r(?=\n|$)/g, "") }))
      return splice(
        raw,
        withLineEnds(plain, { text, endAt }).map((edit) => ({
          start: rawOffset(edit.start),
          end: rawOffset(edit.end),
          text: edit.text,
        })),
      )
    },
  }
}

/** A text in which CR is an ordinary character. */
export function verbatimText(raw: string): EditableText {
  return { text: raw, stored: ({ start, end }) => raw.slice(start, end), edited: (edits) => splice(raw, edits) }
}

function splice(text: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let at = 0
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    parts.push(text.slice(at, edit.start), edit.text)
    at = edit.end
  }
  return parts.join("") + text.slice(at)
}

/** The offset of the LF of each CRLF after all CRLFs were replaced by LFs. */
function positionsOfReturns(raw: string): readonly number[] {
  const positions: number[] = []
  for (let at = raw.indexOf("\r\n"); at !== -1; at = raw.indexOf("\r\n", at + 2)) positions.push(at - positions.length)
  return positions
}

/** How many of the sorted numbers are smaller. */
function countBelow(sorted: readonly number[], limit: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < limit) low = middle + 1
    else high = middle
  }
  return low
}
