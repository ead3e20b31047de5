import type { AttachedImage } from "../../app/services/attached-image.ts"
import type { HistorySearch } from "../../terminal/editor/history-search.ts"
import { printable } from "../../terminal/editor/wrapped-line.ts"
import { cutToColumns, oneLine } from "../../terminal/text-layout.ts"
import { takeColumns, textColumns } from "../../terminal/text-width.ts"
import type { Drawing, Row, Size } from "../drawing.ts"
import { rowOf, span, wrapSpans } from "../render/spans.ts"
import type { Theme } from "../theme/theme.ts"
import { attachmentRow } from "./attachments.ts"
import { menuRows } from "./completion/menu.ts"
import type { Menu } from "./completion/menu.ts"
import type { DraftLayout } from "./draft-layout.ts"

/** What the editor shows. */
export interface EditorView {
  readonly prompt: string
  /** The layout of the draft, or of the message that a search has found. */
  readonly layout: DraftLayout
  readonly cursor: number
  /** The first row that is shown. */
  readonly top: number
  /** Suggested text behind the draft. */
  readonly suggestion: string
  readonly search: HistorySearch | undefined
  readonly images: readonly AttachedImage[]
  readonly hint: string | undefined
  readonly menu: Menu | undefined
}

const MAX_DRAFT_ROWS = 8
/** On a small screen the menu keeps this many rows. */
const MIN_MENU_ROWS = 3

/** Returns the drawing and the first row of the draft that it shows. */
export function drawEditor(view: EditorView, size: Size, theme: Theme): Drawing & { readonly top: number } {
  const { layout, prompt, search } = view
  const images = view.images.length === 0 ? [] : [attachmentRow(view.images, size.columns, theme)]
  const below = [
    ...(search === undefined ? [] : [searchRow(search, size.columns, theme)]),
    ...(view.hint === undefined ? [] : hintRows(view.hint, size, theme)),
  ]
  const room = Math.max(1, size.rows - images.length - below.length)
  const reserved = Math.min(MIN_MENU_ROWS, view.menu?.completions.items.length ?? 0)
  const count = Math.min(MAX_DRAFT_ROWS, layout.rows.length, Math.max(1, room - reserved))
  const position = layout.positionOf(view.cursor)
  const top = topFor(view.top, { row: position.row, count, total: layout.rows.length })
  const rows = layout.rows.slice(top, top + count).map(({ text }, index): Row => {
    const row = top + index
    const isSuggested = row === position.row && view.suggestion !== ""
    const shown = search === undefined ? text : highlighted(text, search.query, theme)
    return `${prefix(view, { row, isFirst: index === 0, isLast: index === count - 1, theme })}${shown}${
      isSuggested ? suggestionText(view, size.columns - 1 - textColumns(prompt) - textColumns(text), theme) : ""
    }`
  })
  const menu =
    view.menu === undefined ? [] : menuRows(view.menu, { columns: size.columns, maxRows: room - rows.length, theme })
  const cursor =
    search === undefined
      ? { row: images.length + position.row - top, column: textColumns(prompt) + position.column }
      : { row: images.length + rows.length, column: textColumns(searchText(search, size.columns)) }
  return {
    rows: [...images, ...rows, ...below, ...menu],
    cursor: { ...cursor, column: Math.min(cursor.column, size.columns - 1) },
    top,
  }
}

/** A hint that is too long for a row takes more, where there is room. */
function hintRows(hint: string, { columns, rows }: Size, theme: Theme): readonly Row[] {
  const wrapped = wrapSpans([span(oneLine(hint))], columns - 1).map(rowOf)
  const shown = wrapped.length > rows / 2 ? [cutToColumns(hint, columns - 1)] : wrapped.slice(0, MAX_HINT_ROWS)
  return shown.map((row) => theme.style("dim", row))
}

const MAX_HINT_ROWS = 6

/** The prompt before the first row; before others a mark where rows are hidden, or blanks. */
function prefix(
  { prompt, layout }: EditorView,
  at: { readonly row: number; readonly isFirst: boolean; readonly isLast: boolean; readonly theme: Theme },
): string {
  if (at.row === 0) return at.theme.paint("prompt", prompt)
  const columns = textColumns(prompt)
  const mark = at.isFirst ? "↑" : at.isLast && at.row < layout.rows.length - 1 ? "↓" : ""
  return mark === "" ? " ".repeat(columns) : at.theme.style("dim", mark) + " ".repeat(columns - 1)
}

function suggestionText({ suggestion }: EditorView, columns: number, theme: Theme): string {
  const [line = "", ...others] = printable(suggestion).split("\n")
  return theme.style("dim", takeColumns(others.length === 0 ? line : `${line} …`, Math.max(0, columns)))
}

function searchRow(search: HistorySearch, columns: number, theme: Theme): Row {
  return theme.style("dim", searchText(search, columns))
}

function searchText({ query, match }: HistorySearch, columns: number): string {
  const label = query !== "" && match === undefined ? "no earlier message with" : "search earlier messages"
  return takeColumns(`${label}: ${printable(query)}`, columns - 1)
}

function highlighted(text: string, query: string, theme: Theme): string {
  const start = query === "" ? -1 : text.toLowerCase().indexOf(query.toLowerCase())
  if (start === -1) return text
  const end = start + query.length
  return text.slice(0, start) + theme.style("underline", text.slice(start, end)) + text.slice(end)
}

function topFor(
  top: number,
  { row, count, total }: { readonly row: number; readonly count: number; readonly total: number },
): number {
  if (row < top) return row
  return Math.min(row >= top + count ? row - count + 1 : top, Math.max(0, total - count))
}
