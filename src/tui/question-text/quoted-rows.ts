import { visibleText } from "../../base/visible-text.ts"
import { graphemeColumns, graphemes, textColumns } from "../../terminal/text-width.ts"

export interface QuotedText {
  readonly rows: readonly string[]
  /** The visible text in the rows, without the part that was left out. */
  readonly shown: string
  /** Rows that were left out, with a mark in their position. */
  readonly left: number
  /** The unusual characters of the text, one line each. */
  readonly notes: readonly string[]
}

/**
 * Text from outside Hermes, made visible. Every row on the screen begins with a mark, also where a long line continues, so that none
 * of them can be mistaken for a line of Hermes. Rows end after a space where there is one, and no character is left out. Without
 * `whole`, the middle of a long text is left out; with `fold`, everything after so many rows.
 */
export function quotedText(text: string, options: QuoteOptions): QuotedText {
  const { columns, whole = false, fold } = options
  const visible = visibleText(text.replaceAll("\r\n", "\n"))
  const width = Math.max(MIN_WIDTH, columns - LINE.length - 1)
  const rows = visible.text
    .split("\n")
    .flatMap((line) =>
      wordRows(line.replaceAll("\t", TAB), width).map((row, index) => (index === 0 ? LINE : CONTINUED) + row),
    )
  const left = whole ? 0 : Math.max(0, rows.length - (fold ?? MAX_ROWS))
  const { notes } = visible
  // A mark that takes as much room as what it stands for would be useless.
  if (left < MIN_LEFT_OUT) return { rows, shown: visible.text, left: 0, notes }
  const head = rows.slice(0, fold ?? HEAD_ROWS)
  const tail = rows.slice(head.length + left)
  const mark = `  … ${left} more rows, not shown here …`
  return { rows: [...head, mark, ...tail], shown: `${unquoted(head)}\n${unquoted(tail)}`, left, notes }
}

export interface QuoteOptions {
  readonly columns: number
  readonly whole?: boolean
  readonly fold?: number
}

function unquoted(rows: readonly string[]): string {
  return rows.map((row) => (row.startsWith(CONTINUED) ? "" : "\n") + row.slice(LINE.length)).join("")
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

/** A question whose last line is broken at words too. The user types after its last row. */
export function wrappedQuestion(question: string, columns: number): string {
  const lines = question.trimEnd().split("\n")
  const last = indentedRows(lines.at(-1) ?? "", columns)
  return `${[...lines.slice(0, -1), ...last].join("\n")} `
}

const HANGING = "      "
const LINE = "  | "
const CONTINUED = "  : "
const TAB = "    "
const MIN_WIDTH = 16
const MAX_ROWS = 40
const HEAD_ROWS = 25
const MIN_LEFT_OUT = 2

/** Breaks a line after spaces. Only a word that is longer than a row is cut. */
function wordRows(line: string, width: number): readonly string[] {
  const rows: string[] = []
  let row = ""
  let used = 0
  for (const word of line.match(/ +|[^ ]+ ?/gu) ?? []) {
    const columns = textColumns(word)
    // The space after the last word of a row may lie beyond its edge.
    const isFitting = used + columns - (word.endsWith(" ") && word.length > 1 ? 1 : 0) <= width
    if (isFitting) {
      row += word
      used += columns
      continue
    }
    const parts = rowsOf(word, width)
    if (row !== "") rows.push(row)
    rows.push(...parts.slice(0, -1))
    row = parts.at(-1) ?? ""
    used = textColumns(row)
  }
  return [...rows, row]
}

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
