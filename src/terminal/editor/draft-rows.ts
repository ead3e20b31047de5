import { graphemeColumns, graphemes, textColumns } from "../text-width.ts"
import type { CursorPosition } from "../live-area.ts"
import type { Draft } from "./draft.ts"

export interface DraftRowsOptions {
  readonly prompt: string
  readonly draft: Draft
  readonly columns: number
  /** When there are more rows, only those around the cursor are returned. */
  readonly maxRows: number
}

/** A wider prompt does not indent the lines after the first. */
const MAX_INDENT = 12

/** Breaks the prompt and the draft into rows of the screen. Rows never reach the last column, where terminals differ. */
export function draftRows({ prompt, draft, columns, maxRows }: DraftRowsOptions): {
  readonly rows: readonly string[]
  readonly cursor: CursorPosition
} {
  const width = Math.max(2, columns - 1)
  const promptColumns = textColumns(prompt)
  const indent = promptColumns <= Math.min(MAX_INDENT, width / 2) ? " ".repeat(promptColumns) : ""
  const rows: string[] = []
  let cursor: CursorPosition = { row: 0, column: 0 }
  let offset = 0
  for (const [index, line] of draft.text.split("\n").entries()) {
    const prefix = index === 0 ? prompt : indent
    const inLine = draft.cursor - offset
    const { wrapped, position } = wrap(prefix + line, {
      width,
      cursor: inLine >= 0 && inLine <= line.length ? prefix.length + inLine : undefined,
    })
    if (position !== undefined) cursor = { row: rows.length + position.row, column: position.column }
    rows.push(...wrapped)
    offset += line.length + 1
  }
  return around(rows, cursor, Math.max(1, maxRows))
}

/** Shows tabs as spaces, and other control characters, which only a history file of another program can contain, as one mark. */
export function printable(text: string): string {
  return text.replaceAll("\t", "    ").replaceAll(/(?!\n)\p{Cc}/gu, "�")
}

function wrap(
  text: string,
  { width, cursor }: { readonly width: number; readonly cursor: number | undefined },
): { readonly wrapped: readonly string[]; readonly position: CursorPosition | undefined } {
  const wrapped: string[] = []
  let row = ""
  let used = 0
  let position: CursorPosition | undefined
  for (const { segment, index } of graphemes(text)) {
    const shown = printable(segment)
    const columns = shown.length > 1 && segment === "\t" ? shown.length : graphemeColumns(shown)
    if (used + columns > width) {
      wrapped.push(row)
      row = ""
      used = 0
    }
    if (index === cursor) position = { row: wrapped.length, column: used }
    row += shown
    used += columns
  }
  if (cursor !== undefined && position === undefined) {
    if (used >= width) {
      wrapped.push(row)
      row = ""
      used = 0
    }
    position = { row: wrapped.length, column: used }
  }
  return { wrapped: [...wrapped, row], position }
}

function around(rows: readonly string[], cursor: CursorPosition, maxRows: number) {
  if (rows.length <= maxRows) return { rows, cursor }
  const start = Math.min(Math.max(0, cursor.row - maxRows + 1), rows.length - maxRows)
  return { rows: rows.slice(start, start + maxRows), cursor: { row: cursor.row - start, column: cursor.column } }
}
