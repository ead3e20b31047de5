import type { Region } from "../editable-text.ts"

/** A text cut at its line feeds, with where each line begins. The last line is empty where the text ends in one. */
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

/** The lines of a search text. A final line feed makes no line: it asks for the end of the last one. */
export function wantedLines(old: string): { readonly lines: readonly string[]; readonly withLineEnd: boolean } {
  const lines = old.split("\n")
  const withLineEnd = lines.length > 1 && lines.at(-1) === ""
  return { lines: withLineEnd ? lines.slice(0, -1) : lines, withLineEnd }
}

/** From the beginning of line `first` to the end of the last of `count` lines, with its line feed when asked for. */
export function linesRegion(
  text: TextLines,
  window: { readonly first: number; readonly count: number; readonly withLineEnd: boolean },
): Region {
  const last = window.first + window.count - 1
  const end = (text.starts[last] ?? 0) + (text.lines[last] ?? "").length
  return {
    start: text.starts[window.first] ?? 0,
    end: window.withLineEnd ? Math.min(end + 1, text.length) : end,
  }
}
