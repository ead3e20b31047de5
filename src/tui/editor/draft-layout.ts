import { boundary } from "../../terminal/editor/draft.ts"
import type { Draft } from "../../terminal/editor/draft.ts"
import { nextGrapheme } from "../../terminal/text-width.ts"
import { shownColumns, wrapLine } from "../../terminal/editor/wrapped-line.ts"
import type { WrappedRow } from "../../terminal/editor/wrapped-line.ts"
import type { Position } from "../drawing.ts"

/** A draft as rows of the screen. The indices of a row refer to the whole text. */
export interface DraftLayout {
  readonly rows: readonly WrappedRow[]
  positionOf(cursor: number): Position
  /** The index that is shown at a column, or the last one before it. */
  indexAt(row: number, column: number): number
}

/** Computes layouts. Only lines that have changed since the last call are measured again, so that a key in a long draft is cheap. */
export function createDraftLayouter(wrap = wrapLine): (text: string, width: number) => DraftLayout {
  let last: { readonly text: string; readonly width: number; readonly layout: DraftLayout } | undefined
  let known = new Map<string, readonly WrappedRow[]>()
  return (text, width) => {
    if (last?.text === text && last.width === width) return last.layout
    if (last?.width !== width) known = new Map()
    const lines = new Map<string, readonly WrappedRow[]>()
    const rows: WrappedRow[] = []
    let offset = 0
    for (const line of text.split("\n")) {
      const wrapped = lines.get(line) ?? known.get(line) ?? wrap(line, width)
      lines.set(line, wrapped)
      for (const row of wrapped) rows.push({ start: offset + row.start, end: offset + row.end, text: row.text })
      offset += line.length + 1
    }
    known = lines
    last = { text, width, layout: layoutOf(text, rows) }
    return last.layout
  }
}

/** Moves the cursor by rows of the screen, as close to the column as possible. Undefined above the first and below the last row. */
export function moveRows(draft: Draft, layout: DraftLayout, to: { readonly rows: number; readonly column: number }) {
  const row = layout.positionOf(draft.cursor).row + to.rows
  if (row < 0 || row >= layout.rows.length) return undefined
  return { ...draft, cursor: layout.indexAt(row, to.column) }
}

function layoutOf(text: string, rows: readonly WrappedRow[]): DraftLayout {
  return {
    rows,
    positionOf: (cursor) => {
      const row = lastStartingBefore(rows, cursor)
      return { row, column: shownColumns(text.slice(rows[row]?.start, cursor)) }
    },
    indexAt: (row, column) => {
      const { start, end } = rows[row] ?? { start: 0, end: 0 }
      // The end of a row that continues in the next one is the start of that.
      const limit = rows[row + 1]?.start === end ? boundary(text, Math.max(start, end - 1)) : end
      let index = start
      let used = 0
      while (index < limit) {
        const next = nextGrapheme(text, index)
        used += shownColumns(text.slice(index, next))
        if (used > column || next > limit) return index
        index = next
      }
      return index
    },
  }
}

function lastStartingBefore(rows: readonly WrappedRow[], cursor: number): number {
  let low = 0
  let high = rows.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((rows[middle]?.start ?? 0) <= cursor) low = middle
    else high = middle - 1
  }
  return low
}
