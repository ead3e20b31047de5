import { graphemeColumns, graphemes } from "../text-width.ts"

/** A row of the screen that shows a part of a line. */
export interface WrappedRow {
  /** Indices into the line. */
  readonly start: number
  readonly end: number
  /** What the row shows. */
  readonly text: string
}

/**
 * Breaks a line into rows of at most this many columns, behind a space where there is one. A space behind a full row is
 * not shown. Spaces among the first `promptLength` characters do not count, so that a long word stays next to the prompt.
 */
export function wrapLine(line: string, width: number, promptLength = 0): readonly WrappedRow[] {
  if (PRINTABLE_ASCII.test(line)) return wrapAscii(line, width, promptLength)
  const rows: WrappedRow[] = []
  let start = 0
  let shown = ""
  let used = 0
  /** Behind the last space of the row. */
  let gap: RowBreak | undefined
  for (const { segment, index } of graphemes(line)) {
    const text = printable(segment)
    const columns = segment === "\t" ? text.length : text === "" ? 0 : graphemeColumns(text)
    if (segment === " " && used >= width) {
      rows.push({ start, end: index + 1, text: shown })
      start = index + 1
      shown = ""
      used = 0
      gap = undefined
      continue
    }
    while (used + columns > width && index > start) {
      const cut: RowBreak = gap ?? { index, shown: shown.length, used }
      rows.push({ start, end: cut.index, text: shown.slice(0, cut.shown) })
      start = cut.index
      shown = shown.slice(cut.shown)
      used -= cut.used
      gap = undefined
    }
    shown += text
    used += columns
    if (segment === " " && index >= promptLength) gap = { index: index + 1, shown: shown.length, used }
  }
  return [...rows, { start, end: line.length, text: shown }]
}

/** Shows tabs as spaces, other control characters as one mark, and no marks that reverse the direction of text. */
export function printable(text: string): string {
  return text
    .replaceAll("\t", "    ")
    .replaceAll(/(?!\n)\p{Cc}/gu, "�")
    .replaceAll(/[\u202A-\u202E\u2066-\u2069]/gu, "")
}

/** The number of columns that a part of a line takes. */
export function shownColumns(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length
  let columns = 0
  for (const { segment } of graphemes(text)) {
    const shown = printable(segment)
    columns += segment === "\t" ? shown.length : shown === "" ? 0 : graphemeColumns(shown)
  }
  return columns
}

/** An index into the line, and how much of the row stands before it. */
interface RowBreak {
  readonly index: number
  readonly shown: number
  readonly used: number
}

const PRINTABLE_ASCII = /^[ -~]*$/

function wrapAscii(line: string, width: number, promptLength: number): readonly WrappedRow[] {
  const rows: WrappedRow[] = []
  let start = 0
  for (;;) {
    const full = start + Math.max(1, width)
    if (line.length <= full) return [...rows, { start, end: line.length, text: line.slice(start) }]
    const space = line.lastIndexOf(" ", full)
    const end = space < Math.max(start, promptLength) ? full : space + 1
    rows.push({ start, end, text: line.slice(start, Math.min(end, full)) })
    start = end
  }
}
