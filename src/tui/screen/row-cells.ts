import { graphemeColumns, graphemes } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import { applySgr, NO_STYLE, type SgrState, sgrParameters } from "./sgr-state.ts"

/** A row as the terminal shows it. Only characters and SGR styles survive: a row cannot move the cursor or change a mode. */
export interface RowCells {
  readonly source: Row
  readonly cells: readonly Cell[]
  readonly columns: number
  /**
   * The index of the first character whose width terminals disagree about. What is behind it is not written without it, because its
   * column is unknown.
   */
  readonly certain: number
}

export interface Cell {
  readonly text: string
  /** The SGR parameters of the cell, empty without a style. */
  readonly style: string
  readonly column: number
  readonly columns: number
}

export const EMPTY_ROW: RowCells = { source: "", cells: [], columns: 0, certain: 0 }

/** Cuts the row at the columns and removes blanks at its end, which the terminal shows anyway. */
export function rowCells(row: Row, columns: number): RowCells {
  const all = parseCells(row)
  const cut = all.findIndex((cell) => cell.column + cell.columns > columns)
  return rowFromCells(row, withoutBlanks(cut === -1 ? all : all.slice(0, cut)))
}

/** Splits a row that is too wide into rows that fit. */
export function wrappedCells(row: Row, columns: number): readonly RowCells[] {
  const rows: Cell[][] = [[]]
  let offset = 0
  for (const cell of parseCells(row)) {
    if (cell.column - offset + cell.columns > columns) {
      offset = cell.column
      rows.push([])
    }
    rows.at(-1)?.push({ ...cell, column: cell.column - offset })
  }
  if (rows.length === 1) return [rowFromCells(row, withoutBlanks(rows[0] ?? []))]
  // The blanks at the end of a row that wraps fill the row, otherwise the terminal would not wrap.
  return rows.map((cells, index) => rowFromCells(`${row} ${index}`, cells))
}

function withoutBlanks(cells: readonly Cell[]): readonly Cell[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell.text !== " " || cell.style !== "") + 1)
}

function rowFromCells(source: Row, kept: readonly Cell[]): RowCells {
  const last = kept.at(-1)
  const uncertain = kept.findIndex(({ text }) => !hasCertainWidth(text))
  return {
    source,
    cells: kept,
    columns: last === undefined ? 0 : last.column + last.columns,
    certain: uncertain === -1 ? kept.length : uncertain,
  }
}

function parseCells(row: Row): readonly Cell[] {
  const cells: Cell[] = []
  let state: SgrState = NO_STYLE
  let style = ""
  let column = 0
  const add = (text: string, columns: number): void => {
    const last = cells.at(-1)
    // A mark without a base joins the character before it.
    if (columns === 0 && last !== undefined) cells[cells.length - 1] = { ...last, text: last.text + text }
    else if (columns > 0) cells.push({ text, style, column, columns })
    column += columns
  }
  // Every second part is a sequence or a control character.
  for (const [index, part] of row.split(SEQUENCE).entries()) {
    if (index % 2 === 1) {
      const parameters = SGR.exec(part)?.[1]
      if (parameters === undefined) continue
      state = applySgr(state, parameters)
      style = sgrParameters(state)
    } else if (ASCII.test(part)) for (const character of part) add(character, 1)
    else for (const { segment } of graphemes(part)) add(segment, graphemeColumns(segment))
  }
  return cells
}

/** Terminals agree about single characters, except for emoji, which old ones show in one column. */
export function hasCertainWidth(text: string): boolean {
  if (text.length === 1) return text < "\u2000" || !WIDE_EMOJI.test(text)
  return text.length === 2 && (text.codePointAt(0) ?? 0) > 0xff_ff && !WIDE_EMOJI.test(text)
}

const WIDE_EMOJI = /\p{Emoji_Presentation}/u
const SEQUENCE = new RegExp(
  String.raw`(\u{1B}\[[0-?]*[ -\/]*[@-~]|\u{1B}[\]PX^_][^\u{7}\u{1B}]*(?:\u{7}|\u{1B}\\)?|\u{1B}[ -\/]*[0-~]?|\p{Cc})`,
  "u",
)
const SGR = new RegExp(String.raw`^\u{1B}\[([\d;:]*)m$`, "u")
const ASCII = /^[ -~]*$/
