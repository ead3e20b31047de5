import type { Shown } from "./draw-frame.ts"
import { hasCertainWidth, type RowCells } from "./row-cells.ts"

/**
 * What a terminal does with rows that are wider than its window after a resize: it wraps them all, it wraps them except for the row with
 * the cursor, or it cuts them.
 */
export type Reflow = "all" | "except-cursor-row" | "none"

export interface ReflowOptions {
  readonly columns: number
  readonly reflow: Reflow
}

/**
 * How far the cursor is below the first row of the live area after the terminal, which showed this, got this many columns. In doubt less:
 * the rows above are printed and must stay.
 */
export function rowsAboveCursor(shown: Shown, { columns, reflow }: ReflowOptions): number {
  const { row, column } = shown.cursor
  if (reflow === "none") return row
  const above = shown.rows.slice(0, row)
  // Rows below the last one of the live area are blank.
  const wrapped = above.reduce((sum, cells) => sum + wrappedHeight(cells, columns), row - above.length)
  const cursorRow = shown.rows[row]
  if (reflow === "except-cursor-row" || cursorRow === undefined) return wrapped
  return wrapped + wrappedHeight(before(cursorRow, column), columns) - 1
}

/** The number of screen rows that a row takes, or fewer where terminals disagree about the width of a character. */
function wrappedHeight({ cells }: Pick<RowCells, "cells">, columns: number): number {
  let height = 1
  let used = 0
  for (const cell of cells) {
    const width = hasCertainWidth(cell.text) ? cell.columns : 1
    if (used + width > columns) {
      height += 1
      used = 0
    }
    used += width
  }
  return height
}

/** The part of the row up to the cursor, with the character under it. Blanks that were never written do not wrap. */
function before(row: RowCells, column: number | undefined): Pick<RowCells, "cells"> {
  return { cells: column === undefined ? row.cells : row.cells.filter((cell) => cell.column <= column) }
}
