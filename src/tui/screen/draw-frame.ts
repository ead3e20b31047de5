import type { Position, Size } from "../drawing.ts"
import { type Cell, EMPTY_ROW, type RowCells } from "./row-cells.ts"

/** What the terminal shows of the live area. Rows count from the first row of the live area. */
export interface Shown {
  readonly rows: readonly RowCells[]
  /** Where the cursor is. The column is undefined where terminals differ: behind the last column, and behind some characters. */
  readonly cursor: { readonly row: number; readonly column: number | undefined }
  readonly cursorVisible: boolean
  /** Text that is too wide wraps. It is switched off for the live area: the terminal may be narrower than we know yet. */
  readonly wraps: boolean
}

export interface DrawnFrame {
  readonly bytes: string
  readonly shown: Shown
  /** Only a part of one row changes, so there is no state between that a terminal could show. */
  readonly isOneChange: boolean
}

export interface Frame {
  /** Rows to print above the live area. */
  readonly printed: readonly PrintedRow[]
  /** At least one row, at most as many as the screen has. */
  readonly live: readonly RowCells[]
  readonly cursor: Position | undefined
  readonly size: Size
  /** A printed row that differs from what is in its place is written as a whole: the rows may not be where we know them. */
  readonly writesWholeRows?: boolean
}

export interface PrintedRow {
  readonly row: RowCells
  /** The next row belongs to the same line: the terminal itself wraps it, so that it is one line in a copied text. */
  readonly wraps: boolean
}

/**
 * Returns the bytes that change the terminal from what it shows to the frame, without the cost of what stays: unchanged rows are not
 * written, rows that moved are moved by the terminal, and of a changed row only the changed part is written.
 */
export function drawFrame(shown: Shown, frame: Frame): DrawnFrame {
  const content = [...frame.printed.map(({ row }) => row), ...frame.live]
  const move = planMove(shown.rows, content, frame)
  const pen = new Pen(shown, frame.size.columns)
  const { index, inserted } = move
  const writeRow = (row: number, before: RowCells): void => {
    const isLive = row >= frame.printed.length
    pen.setWrapping(!isLive)
    if (frame.printed[row - 1]?.wraps === true) pen.continueRow(content[row] ?? EMPTY_ROW)
    else if (
      frame.printed[row]?.wraps === true ||
      (!isLive && frame.writesWholeRows === true && before.source !== content[row]?.source)
    )
      pen.rewriteRow(row, content[row] ?? EMPTY_ROW)
    else pen.changeRow(row, before, content[row] ?? EMPTY_ROW)
  }

  for (let row = 0; row < index; row += 1) writeRow(row, shown.rows[row] ?? EMPTY_ROW)
  if (inserted > 0) pen.insertRows(index, inserted)
  if (inserted < 0) pen.removeRows(index, -inserted)
  for (let row = index; row < content.length; row += 1) {
    const isNew = row < index + inserted
    writeRow(row, (isNew ? undefined : shown.rows[row - inserted]) ?? EMPTY_ROW)
  }
  if (content.length < shown.rows.length + inserted) pen.eraseFrom(content.length)

  const top = frame.printed.length
  const hasMoved = content.length !== shown.rows.length || top > 0
  if (frame.cursor !== undefined && (hasMoved || !pen.returnTo(frame.cursor, shown)))
    pen.moveTo(top + frame.cursor.row, frame.cursor.column)
  pen.showCursor(frame.cursor !== undefined)
  return {
    bytes: pen.bytes,
    isOneChange: !hasMoved && pen.changes <= 1,
    shown: {
      rows: frame.live,
      // Printing always moves the live area down, so the cursor may not stay above it.
      cursor: { row: pen.row - top, column: pen.column },
      cursorVisible: frame.cursor !== undefined,
      wraps: pen.wraps,
    },
  }
}

interface Move {
  /** Rows from here on are moved by the terminal. */
  readonly index: number
  /** The number of rows inserted there; negative when rows are removed; 0 moves nothing. */
  readonly inserted: number
}

/** Finds out whether it is cheaper to let the terminal move the rows at the end than to write them again. */
function planMove(before: readonly RowCells[], content: readonly RowCells[], frame: Frame): Move {
  const inserted = content.length - before.length
  const stay: Move = { index: Math.min(before.length, content.length), inserted: 0 }
  if (inserted === 0 || before.length === 0 || frame.printed.some(({ wraps }) => wraps)) return stay
  // Rows that leave the screen must have been written before, so they are not moved.
  const first = Math.max(0, content.length - frame.size.rows)
  const last = stay.index
  if (inserted > frame.size.rows || first > last) return stay
  // Cost of the move at `last`, where nothing follows that could be moved.
  let cost = 0
  let best = { cost: Number.POSITIVE_INFINITY, index: last }
  const inPlace = (row: number): number => changeCost(before[row], content[row])
  const moved = (row: number): number =>
    inserted > 0 ? changeCost(before[row], content[row + inserted]) : changeCost(before[row - inserted], content[row])
  const created = (row: number): number => (inserted > 0 ? (content[row]?.columns ?? 0) : 0)
  // The costs of two neighbouring choices differ in one row, so the sum is updated instead of computed again.
  for (let row = 0; row < last; row += 1) cost += inPlace(row)
  for (let row = last; row < content.length; row += 1) cost += created(row)
  const stayCost = cost
  for (let index = last - 1; index >= first; index -= 1) {
    cost += moved(index) - inPlace(index)
    if (inserted > 0) cost += created(index) - created(index + inserted)
    if (cost < best.cost) best = { cost, index }
  }
  return best.cost + MOVE_COST < stayCost ? { index: best.index, inserted } : stay
}

/** The bytes of the sequences that insert rows, roughly. */
const MOVE_COST = 16

/** The bytes of the sequences that position the cursor, roughly. */
const CHANGE_COST = 8

function changeCost(before: RowCells | undefined, after: RowCells | undefined): number {
  const [one, other] = [before ?? EMPTY_ROW, after ?? EMPTY_ROW]
  if (one.source === other.source && one.columns === other.columns) return 0
  const from = firstDifference(one, other)
  if (from === one.cells.length && from === other.cells.length) return 0
  return CHANGE_COST + other.cells.length - Math.min(from, other.cells.length)
}

/** Where one row begins to differ from another. */
function firstDifference(one: RowCells, other: RowCells): number {
  const end = Math.min(one.cells.length, other.cells.length)
  for (let index = 0; index < end; index += 1) if (!isSameCell(one.cells[index], other.cells[index])) return index
  return end
}

function isSameCell(one: Cell | undefined, other: Cell | undefined): boolean {
  return one?.text === other?.text && one?.style === other?.style && one?.column === other?.column
}

/** Collects what is written and knows where the cursor is. */
class Pen {
  bytes = ""
  row: number
  column: number | undefined
  wraps: boolean
  /** How many rows were changed. */
  changes = 0
  readonly #columns: number
  #cursorVisible: boolean
  #lastRow: number
  #mayWrap = true
  #style = ""

  constructor(shown: Shown, columns: number) {
    this.row = shown.cursor.row
    this.column = shown.cursor.column
    this.#cursorVisible = shown.cursorVisible
    this.wraps = shown.wraps
    this.#lastRow = Math.max(shown.rows.length - 1, shown.cursor.row)
    this.#columns = columns
  }

  /** Says whether text that is too wide wraps: that of printed rows does. */
  setWrapping(wraps: boolean): void {
    this.#mayWrap = wraps
    if (wraps) this.#switchWrapping(true)
  }

  /** Goes back to where the cursor was before the frame, if that is cheaper by saving its position first. Returns false if not. */
  returnTo(target: Position, { cursor, wraps }: Shown): boolean {
    // Terminals disagree about whether the position is saved together with the wrapping.
    const isSaved = cursor.row === target.row && cursor.column === target.column && wraps === this.wraps
    const steps = Math.abs(this.row - target.row)
    if (!isSaved || steps === 0 || this.column === target.column) return false
    this.bytes = `${SAVE_CURSOR}${this.bytes}${RESTORE_CURSOR}`
    this.row = target.row
    this.column = target.column
    return true
  }

  moveTo(row: number, column: number): void {
    if (row > this.#lastRow) {
      this.moveTo(this.#lastRow, this.column ?? 0)
      this.bytes += "\r\n".repeat(row - this.#lastRow)
      this.row = row
      this.column = 0
      this.#lastRow = row
    }
    const up = this.row - row
    if (up < 0 && up >= -SHORT_WAY && column === 0) {
      // A window that has just become lower scrolls for a newline; other movements would stay in its last row and overwrite it.
      this.bytes += "\r\n".repeat(-up)
      this.column = 0
    } else if (up !== 0) this.bytes += up > 0 ? csi(up, "A") : csi(-up, "B")
    this.row = row
    if (column !== this.column) this.bytes += column === 0 ? "\r" : csi(column + 1, "G")
    this.column = column
  }

  changeRow(row: number, before: RowCells, after: RowCells): void {
    // A blank row at the end must exist too.
    if (row > this.#lastRow) this.moveTo(row, 0)
    if (before.source === after.source && before.columns === after.columns) return
    const difference = firstDifference(before, after)
    if (difference === before.cells.length && difference === after.cells.length) return
    const from = Math.min(difference, before.certain, after.certain)
    const to = unchangedEnd(before, after, from)
    this.changes += 1
    this.moveTo(row, after.cells[from]?.column ?? after.columns)
    this.#writeCells(after.cells.slice(from, to))
    if (to > after.certain) this.column = undefined
    const wasWider = before.columns > after.columns || before.certain < before.cells.length
    if (to === after.cells.length && wasWider && after.columns < this.#columns) this.bytes += "\u{1B}[K"
  }

  rewriteRow(row: number, after: RowCells): void {
    this.moveTo(row, 0)
    this.bytes += "\u{1B}[K"
    this.#writeCells(after.cells)
    if (after.certain < after.cells.length) this.column = undefined
  }

  /** Writes the next row behind the last column of the row before it, so the terminal wraps. */
  continueRow(after: RowCells): void {
    this.#writeCells(after.cells)
    this.row += 1
    const isFull = after.columns >= this.#columns
    this.column = isFull || after.certain < after.cells.length ? undefined : after.columns
    this.#lastRow = Math.max(this.#lastRow, this.row)
    if (!isFull) this.bytes += "\u{1B}[K"
  }

  insertRows(row: number, count: number): void {
    this.moveTo(this.#lastRow + count, 0)
    this.moveTo(row, 0)
    this.bytes += csi(count, "L")
  }

  removeRows(row: number, count: number): void {
    this.moveTo(row, 0)
    this.bytes += csi(count, "M")
    this.#lastRow -= count
  }

  eraseFrom(row: number): void {
    this.moveTo(row, 0)
    this.bytes += "\u{1B}[J"
  }

  showCursor(visible: boolean): void {
    if (visible !== this.#cursorVisible) this.bytes += visible ? "\u{1B}[?25h" : "\u{1B}[?25l"
    this.#cursorVisible = visible
  }

  #writeCells(cells: readonly Cell[]): void {
    const last = cells.at(-1)
    if (last === undefined) return
    const end = last.column + last.columns
    if (!this.#mayWrap && end > MIN_COLUMNS) this.#switchWrapping(false)
    let text = ""
    for (const cell of cells) {
      text += this.#styleChange(cell.style) + cell.text
      this.#style = cell.style
    }
    this.bytes += text + this.#styleChange("")
    this.#style = ""
    this.column = end < this.#columns ? end : undefined
  }

  #styleChange(style: string): string {
    if (style === this.#style) return ""
    if (style === "") return "\u{1B}[m"
    if (this.#style === "") return `\u{1B}[${style}m`
    return style.startsWith(`${this.#style};`) ? `\u{1B}[${style.slice(this.#style.length + 1)}m` : `\u{1B}[;${style}m`
  }

  #switchWrapping(wraps: boolean): void {
    if (wraps !== this.wraps) this.bytes += wraps ? "\u{1B}[?7h" : "\u{1B}[?7l"
    this.wraps = wraps
  }
}

/** The index in `after` from which both rows are the same to their end. */
function unchangedEnd(before: RowCells, after: RowCells, from: number): number {
  const all = after.cells.length
  if (before.columns !== after.columns || before.certain < before.cells.length || after.certain < all) return all
  let end = all
  let other = before.cells.length
  while (end > from && other > from && isSameCell(before.cells[other - 1], after.cells[end - 1])) {
    end -= 1
    other -= 1
  }
  return end
}

/** As many newlines take no more bytes than a sequence. */
const SHORT_WAY = 2

const SAVE_CURSOR = "\u{1B}7"
const RESTORE_CURSOR = "\u{1B}8"

/** The full UI needs this many columns, so text left of them never wraps. */
const MIN_COLUMNS = 40

function csi(count: number, final: string): string {
  return count === 1 ? `\u{1B}[${final}` : `\u{1B}[${count}${final}`
}
