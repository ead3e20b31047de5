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
  /**
   * What the terminal may have shown in the place of the row when it changed its size; nothing if the row was not drawn yet. Bytes on
   * their way are drawn in the new size, where a row that is too wide is cut instead of wrapped.
   */
  readonly drawnAs: (row: RowCells) => readonly RowCells[]
}

/**
 * How far the cursor is below the first row of the live area after the terminal got this many columns. In doubt less: the rows above are
 * printed and must stay.
 */
export function rowsAboveCursor(shown: Shown, { columns, reflow, drawnAs }: ReflowOptions): number {
  const { row, column } = shown.cursor
  if (reflow === "none") return row
  const above = shown.rows.slice(0, row)
  const heights = above.map((cells) => lowestHeight(drawnAs(cells), columns))
  // Rows below the last one of the live area are blank.
  const wrapped = heights.reduce((sum, height) => sum + height, row - above.length)
  const cursorRow = shown.rows[row]
  if (reflow === "except-cursor-row" || cursorRow === undefined) return wrapped
  const cursorParts = drawnAs(cursorRow).map((cells) => before(cells, column))
  return wrapped + lowestHeight(cursorParts, columns) - 1
}

function lowestHeight(rows: readonly Pick<RowCells, "cells">[], columns: number): number {
  return rows.length === 0 ? 1 : Math.min(...rows.map((row) => wrappedHeight(row, columns)))
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
