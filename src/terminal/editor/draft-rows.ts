import { textColumns } from "../text-width.ts"
import type { CursorPosition } from "../live-area.ts"
import type { Draft } from "./draft.ts"
import { shownColumns, wrapLine } from "./wrapped-line.ts"

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
      promptLength: prefix.length,
      cursor: inLine >= 0 && inLine <= line.length ? prefix.length + inLine : undefined,
    })
    if (position !== undefined) cursor = { row: rows.length + position.row, column: position.column }
    rows.push(...wrapped)
    offset += line.length + 1
  }
  return around(rows, cursor, Math.max(1, maxRows))
}

function wrap(
  text: string,
  {
    width,
    cursor,
    promptLength,
  }: { readonly width: number; readonly cursor: number | undefined; readonly promptLength: number },
): { readonly wrapped: readonly string[]; readonly position: CursorPosition | undefined } {
  const rows = wrapLine(text, width, promptLength)
  const wrapped = rows.map((row) => row.text)
  if (cursor === undefined) return { wrapped, position: undefined }
  const index = rows.findLastIndex((row) => row.start <= cursor)
  const column = shownColumns(text.slice(rows[index]?.start, cursor))
  // Behind a full row the cursor stands in the next one.
  if (column >= width) return { wrapped: [...wrapped, ""], position: { row: wrapped.length, column: 0 } }
  return { wrapped, position: { row: index, column } }
}

function around(rows: readonly string[], cursor: CursorPosition, maxRows: number) {
  if (rows.length <= maxRows) return { rows, cursor }
  const start = Math.min(Math.max(0, cursor.row - maxRows + 1), rows.length - maxRows)
  return { rows: rows.slice(start, start + maxRows), cursor: { row: cursor.row - start, column: cursor.column } }
}
