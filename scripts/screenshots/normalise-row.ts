import type { Cell, ScreenRow } from "./screen-rows.ts"

/** Text that differs between two runs or two machines, and what the picture shows instead. */
export interface Replacement {
  readonly pattern: RegExp
  readonly text: string | ((found: string) => string)
}

/** Replaces text of a row. The cells after it move; a rule or a coloured bar keeps its length. */
export function normaliseRow(row: ScreenRow, replacements: readonly Replacement[]): ScreenRow {
  return replacements.reduce(replaceIn, row)
}

function replaceIn(row: ScreenRow, { pattern, text: replacement }: Replacement): ScreenRow {
  const found = pattern.exec(row.map((cell) => cell.text).join(""))
  if (found === null) return row
  const text = typeof replacement === "string" ? replacement : replacement(found[0])
  const start = cellIndex(row, found.index)
  const end = cellIndex(row, found.index + found[0].length)
  const first = row[start]
  if (first === undefined) return row
  const inserted: readonly Cell[] = Array.from(text, (character) => ({ text: character, width: 1, style: first.style }))
  const rest = [...inserted, ...row.slice(end)]
  return [...row.slice(0, start), ...fittedTo(widthOf(row.slice(start)), rest)]
}

/** A cell can contain several UTF-16 units. */
function cellIndex(row: ScreenRow, offset: number): number {
  let units = 0
  for (const [index, cell] of row.entries()) {
    if (units >= offset) return index
    units += cell.text.length
  }
  return row.length
}

function widthOf(row: ScreenRow): number {
  return row.reduce((sum, cell) => sum + cell.width, 0)
}

/** Adds or removes cells where the row repeats a character: in its padding or its rule. */
function fittedTo(width: number, row: ScreenRow): ScreenRow {
  const missing = width - widthOf(row)
  const index = row.findIndex((cell, at) => isFiller(cell) && (row[at + 1]?.text ?? cell.text) === cell.text)
  const filler = row[index]
  if (filler === undefined) return row
  if (missing >= 0) return row.toSpliced(index, 0, ...Array.from({ length: missing }, () => filler))
  return row.toSpliced(index, -missing)
}

function isFiller({ text }: Cell): boolean {
  return text === " " || text === "─"
}
