import type { TextRegion } from "../../text/text-edit.ts"

/** A text split at line feeds, with the offset of each line. The last line is empty when the text ends with a line feed. */
export interface TextLines {
  readonly lines: readonly string[]
  readonly starts: readonly number[]
  readonly length: number
}

export function textLines(text: string): TextLines {
  const lines = text.split("\n")
  const starts: number[] = []
  let at = 0
  for (const line of lines) {
    starts.push(at)
    at += line.length + 1
  }
  return { lines, starts, length: text.length }
}

/** The lines of a search text. A final line feed is not a line: it includes the line ending of the last one. */
export function searchLines(old: string): { readonly lines: readonly string[]; readonly withLineEnd: boolean } {
  const lines = old.split("\n")
  const withLineEnd = lines.length > 1 && lines.at(-1) === ""
  return { lines: withLineEnd ? lines.slice(0, -1) : lines, withLineEnd }
}

/** The region of `count` lines from line `first`, with the final line feed if `withLineEnd`. */
export function linesRegion(
  text: TextLines,
  window: { readonly first: number; readonly count: number; readonly withLineEnd: boolean },
): TextRegion {
  const last = window.first + window.count - 1
  const end = (text.starts[last] ?? 0) + (text.lines[last] ?? "").length
  return {
    start: text.starts[window.first] ?? 0,
    end: window.withLineEnd ? Math.min(end + 1, text.length) : end,
  }
}
