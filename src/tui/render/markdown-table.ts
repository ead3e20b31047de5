import type { Tokens } from "marked"
import type { Row } from "../drawing.ts"
import type { Theme } from "../theme/theme.ts"
import { inlineSpans } from "./markdown-inline.ts"
import { rowOf, span, wrapSpans } from "./spans.ts"
import type { Line, Span } from "./spans.ts"

export interface TableOptions {
  readonly theme: Theme
  readonly columns: number
  /** The head was shown above: a long table is shown in parts. */
  readonly withoutHead?: boolean
}

/** A table whose cells are wrapped so that it fits; on a narrow screen, one line for each cell. */
export function tableRows(table: Tokens.Table, options: TableOptions): readonly Row[] {
  const { theme, columns } = options
  const cell = ({ tokens }: Tokens.TableCell): readonly Span[] => oneParagraph(inlineSpans(tokens, { theme }))
  const bold = (text: string): string => theme.style("bold", text)
  const head = table.header.map(({ tokens }) => oneParagraph(inlineSpans(tokens, { theme, paint: bold })))
  const body = table.rows.map((row) => row.map(cell))
  const widths = fittingWidths([head, ...body], columns)
  if (columns < MIN_TABLE_COLUMNS || widths === undefined) return listRows(head, body, options)
  const line = (cells: readonly (readonly Span[])[]): readonly Row[] =>
    cellRows(cells, widths, (index) => table.align[index] ?? "left")
  const rule = theme.style("dim", widths.map((width) => "─".repeat(width)).join("─┼─"))
  return [...(options.withoutHead === true ? [] : [...line(head), rule]), ...body.flatMap(line)]
}

/** Narrower screens show tables as lists. */
const MIN_TABLE_COLUMNS = 40
const MIN_CELL_COLUMNS = 5
const SEPARATOR = " │ "

function oneParagraph(spans: readonly Span[]): readonly Span[] {
  return spans.map(({ text, paint }) => span(text.replaceAll(/<br\s*\/?>/giu, "\n"), paint))
}

function fittingWidths(
  rows: readonly (readonly (readonly Span[])[])[],
  columns: number,
): readonly number[] | undefined {
  const count = rows[0]?.length ?? 0
  const natural = Array.from({ length: count }, (_, index) =>
    Math.max(1, ...rows.map((row) => widest(wrapSpans(row[index] ?? [], MAX_NATURAL_COLUMNS)))),
  )
  const available = columns - SEPARATOR.length * Math.max(0, count - 1)
  if (sum(natural) <= available) return natural
  if (available < MIN_CELL_COLUMNS * count) return undefined
  // Narrow columns keep their width, the others share what is left.
  let widths: readonly number[] = natural
  let share = Math.floor(available / count)
  for (let round = 0; round < count; round += 1) {
    const wide = natural.filter((width) => width > share)
    if (wide.length === 0) break
    const left = available - sum(natural.filter((width) => width <= share))
    const next = Math.floor(left / wide.length)
    if (next <= share) break
    share = next
  }
  widths = natural.map((width) => Math.min(width, Math.max(MIN_CELL_COLUMNS, share)))
  return sum(widths) <= available ? widths : undefined
}

/** Wider than any screen. */
const MAX_NATURAL_COLUMNS = 1000

function cellRows(
  cells: readonly (readonly Span[])[],
  widths: readonly number[],
  align: (index: number) => "left" | "center" | "right",
): readonly Row[] {
  const wrapped = widths.map((width, index) => wrapSpans(cells[index] ?? [], width))
  const height = Math.max(1, ...wrapped.map((lines) => lines.length))
  return Array.from({ length: height }, (_, row) =>
    widths
      .map((width, index) => padded(wrapped[index]?.[row], width, align(index)))
      .join(SEPARATOR)
      .trimEnd(),
  )
}

function padded(line: Line | undefined, width: number, align: "left" | "center" | "right"): string {
  const free = Math.max(0, width - (line?.columns ?? 0))
  const before = align === "right" ? free : align === "center" ? Math.floor(free / 2) : 0
  return " ".repeat(before) + (line === undefined ? "" : rowOf(line)) + " ".repeat(free - before)
}

function listRows(
  head: readonly (readonly Span[])[],
  body: readonly (readonly (readonly Span[])[])[],
  { theme, columns, withoutHead }: TableOptions,
): readonly Row[] {
  const rule = theme.style("dim", "─".repeat(Math.min(columns, 12)))
  if (body.length === 0) return withoutHead === true ? [] : head.flatMap((name) => wrapSpans(name, columns).map(rowOf))
  return body.flatMap((cells, index) => [
    ...(index === 0 && withoutHead !== true ? [] : [rule]),
    ...cells.flatMap((cell, column) => {
      if (cell.every(({ text }) => text.trim() === "")) return []
      return wrapSpans([...(head[column] ?? []), span(": "), ...cell], columns).map(rowOf)
    }),
  ])
}

function widest(lines: readonly Line[]): number {
  return Math.max(0, ...lines.map(({ columns }) => columns))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
