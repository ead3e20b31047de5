import { visibleText } from "../../base/visible-text.ts"
import { graphemeColumns, graphemes, textColumns } from "../terminal/text-width.ts"

export interface QuotedText {
  readonly rows: readonly string[]
  /** Rows that were left out, with a mark in their position. */
  readonly left: number
  /** The unusual characters of the text, one line each. */
  readonly notes: readonly string[]
}

/**
 * Text from outside Hermes, made visible. Every row on the screen begins with a mark, also where a long line continues, so that none
 * of them can be mistaken for a line of Hermes. Without `whole`, the middle of a long text is left out.
 */
export function quotedText(
  text: string,
  { columns, whole = false }: { readonly columns: number; readonly whole?: boolean },
): QuotedText {
  const visible = visibleText(text.replaceAll("\r\n", "\n"))
  const width = Math.max(MIN_WIDTH, columns - LINE.length - 1)
  const rows = visible.text
    .split("\n")
    .flatMap((line) =>
      rowsOf(line.replaceAll("\t", TAB), width).map((row, index) => (index === 0 ? LINE : CONTINUED) + row),
    )
  const left = whole ? 0 : Math.max(0, rows.length - MAX_ROWS)
  // A mark that takes as much room as what it stands for would be useless.
  if (left < MIN_LEFT_OUT) return { rows, left: 0, notes: visible.notes }
  const mark = `  … ${left} more rows, not shown here …`
  return { rows: [...rows.slice(0, HEAD_ROWS), mark, ...rows.slice(HEAD_ROWS + left)], left, notes: visible.notes }
}

/** The same on one row, for a value inside a sentence. */
export function visibleLine(text: string): string {
  return visibleText(text.replaceAll(/[\r\n\t]+/gu, " ")).text
}

/** A line of Hermes that contains text from outside: what continues on the next row is indented. */
export function indentedRows(line: string, columns: number): readonly string[] {
  const width = Math.max(MIN_WIDTH, columns - HANGING.length - 1)
  const rows: string[] = []
  let row: string | undefined
  for (const part of line.split(" ").flatMap((word) => rowsOf(word, width))) {
    const longer = row === undefined ? part : `${row} ${part}`
    if (row === undefined || textColumns(longer) <= width) {
      row = longer
      continue
    }
    rows.push(row)
    row = part
  }
  return [...rows, row ?? ""].map((text, index) => (index === 0 ? text : HANGING + text))
}

const HANGING = "      "
const LINE = "  | "
const CONTINUED = "  : "
const TAB = "    "
const MIN_WIDTH = 16
const MAX_ROWS = 40
const HEAD_ROWS = 25
const MIN_LEFT_OUT = 2

function rowsOf(line: string, width: number): readonly string[] {
  const rows: string[] = []
  let row = ""
  let used = 0
  for (const part of /^[ -~]*$/u.test(line) ? slices(line, width) : graphemes(line)) {
    const { segment, columns } = typeof part === "string" ? { segment: part, columns: part.length } : measured(part)
    if (used > 0 && used + columns > width) {
      rows.push(row)
      row = ""
      used = 0
    }
    row += segment
    used += columns
  }
  return [...rows, row]
}

function slices(line: string, width: number): readonly string[] {
  return Array.from({ length: Math.ceil(line.length / width) }, (_, index) =>
    line.slice(index * width, (index + 1) * width),
  )
}

function measured({ segment }: Intl.SegmentData): { readonly segment: string; readonly columns: number } {
  return { segment, columns: graphemeColumns(segment) }
}
