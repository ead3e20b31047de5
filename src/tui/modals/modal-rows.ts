import { plainText } from "../../terminal/printable-text.ts"
import { cutToColumns, oneLine } from "../../terminal/text-layout.ts"
import { takeColumns, textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import { joinedRow, joinedRows } from "../render/joined-rows.ts"
import { rowOf, span, wrapSpans } from "../render/spans.ts"
import type { ColorRole, Theme } from "../theme/theme.ts"
import type { ModalView } from "./modal.ts"

/** The first row of a modal: a rule with its title and, at the right, a short fact such as the time that is left. */
export function titleRow(
  theme: Theme,
  { title, fact = "", role, columns }: { title: string; fact?: string; role: ColorRole; columns: number },
): Row {
  const right = fact === "" || columns < textColumns(fact) + MIN_TITLE ? "" : ` ${fact} ──`
  const left = cutToColumns(title, Math.max(1, columns - RULE_START.length - textColumns(right) - 1))
  const rest = columns - RULE_START.length - textColumns(left) - 1 - textColumns(right)
  return (
    theme.paint(role, RULE_START) +
    theme.style("bold", theme.paint(role, left)) +
    theme.paint(role, ` ${"─".repeat(Math.max(0, rest))}${right}`)
  )
}

const RULE_START = "── "
const MIN_TITLE = 20

/** A row of help below the choices. */
export function hintRow(theme: Theme, text: string, columns: number): Row {
  return theme.style("dim", cutRow(plainText(text), columns))
}

/** Rows of help below the choices: as many of the parts as fit. */
export function hintRows(
  theme: Theme,
  parts: readonly string[],
  { size: { columns, rows } }: SizedView,
): readonly Row[] {
  const shown = rows < ROOMY ? [joinedRow(parts, columns)] : joinedRows(parts, columns).slice(0, MAX_HINT_ROWS)
  return shown.map((row) => hintRow(theme, row, columns))
}

/** A sentence about what has just happened. */
export function noticeRows(theme: Theme, text: string, { size: { columns, rows } }: SizedView): readonly Row[] {
  const wrapped = wrapSpans([span(oneLine(text))], columns).map(rowOf)
  const most = rows < MIN_ROWS_FOR_NOTICE ? 1 : MAX_NOTICE_ROWS
  const shown = wrapped.length > most ? [cutRow(oneLine(text), columns)] : wrapped
  return shown.map((row) => theme.paint("ui_warn", row))
}

type SizedView = Pick<ModalView, "size">

const ROOMY = 12
const MAX_HINT_ROWS = 2
const MIN_ROWS_FOR_NOTICE = 8
const MAX_NOTICE_ROWS = 2

/** One row of a list. The mark shows the selection without colours. */
export function entryRow(theme: Theme, text: string, view: { isSelected: boolean; columns: number }): Row {
  const { isSelected, columns } = view
  const row = cutRow(`${isSelected ? SELECTED : NOT_SELECTED}${text}`, columns)
  return isSelected ? theme.style("bold", theme.paint("ui_accent", row)) : row
}

export const SELECTED = "› "
export const NOT_SELECTED = "  "

/** Cuts a printable row at the edge, with an ellipsis. Its spaces stay. */
export function cutRow(row: string, columns: number): string {
  return textColumns(row) <= columns ? row : `${takeColumns(row, Math.max(0, columns - 1))}…`
}

export interface ScrolledRows {
  readonly rows: readonly Row[]
  /** The offset that was used: never beyond the end. */
  readonly offset: number
}

export interface ScrollView {
  readonly height: number
  readonly offset: number
  readonly theme: Theme
  readonly columns: number
  /** The keys that scroll, for the marks. */
  readonly keys?: { readonly up: string; readonly down: string }
}

const PAGE_KEYS = { up: "PgUp", down: "PgDn" }

/** The part of the rows that fits, with marks where rows are missing. */
export function scrolledRows(rows: readonly Row[], view: ScrollView): ScrolledRows {
  const { height, offset, theme, columns, keys = PAGE_KEYS } = view
  if (rows.length <= height) return { rows, offset: 0 }
  const first = Math.min(Math.max(0, offset), rows.length - height)
  const mark = (text: string): Row => hintRow(theme, `  … ${text}`, columns)
  if (height < MIN_MARKED) {
    const end = first + Math.max(1, height - 1)
    const left = height < 2 ? [] : [mark(`${counted(rows.length - end + first)} (${keys.up}, ${keys.down})`)]
    return { rows: [...rows.slice(first, end), ...left].slice(0, Math.max(0, height)), offset: first }
  }
  const above = first > 0 ? [mark(`${counted(first + 1)} above (${keys.up})`)] : []
  const start = first + above.length
  const room = height - above.length
  const left = rows.length - start - room
  const below = left > 0 ? [mark(`${counted(left + 1)} below (${keys.down})`)] : []
  return { rows: [...above, ...rows.slice(start, start + room - below.length), ...below], offset: first }
}

const MIN_MARKED = 3

function counted(rows: number): string {
  return `${rows} more ${rows === 1 ? "row" : "rows"}`
}

/** How long a question stays open: `45s`, `1:05`. Empty without a limit. */
export function countdown(expiresAt: number | null, now: number): string {
  if (expiresAt === null) return ""
  const seconds = Math.max(0, Math.ceil(expiresAt - now / 1000))
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`
}
