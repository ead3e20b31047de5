import type { Invocation } from "../command.ts"
import { cutToColumns, fitColumn, oneLine } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"

export interface TableColumn {
  readonly heading?: string
  readonly align?: "right"
  /** May be shortened with an ellipsis, or left out, when the table is too wide. Without any such column, the last one is shortened. */
  readonly flexible?: boolean
}

const GAP = 2
/** A narrower column says nothing; it is left out. */
const MIN_FLEXIBLE = 8

/** The width that lines may have: that of the terminal, or COLUMNS. Undefined for a pipe or a file, which must get everything. */
export function outputWidth({
  terminal,
  environment,
}: Pick<Invocation, "terminal" | "environment">): number | undefined {
  if (!terminal.stdoutIsTty) return undefined
  const given = environment.get("COLUMNS") ?? ""
  return /^[1-9]\d{0,4}$/.test(given) ? Number(given) : terminal.columns
}

/** Prints a table: a line for the headings, if any column has one, and a line for each row. */
export function printTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  invocation: Pick<Invocation, "terminal" | "environment">,
): void {
  for (const line of tableLines(columns, rows, { width: outputWidth(invocation) })) invocation.terminal.line(line)
}

/** The lines of a table that is at most `width` columns wide, where that is possible. `indent` comes before each line. */
export function tableLines(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  options: { readonly width: number | undefined; readonly indent?: string },
): readonly string[] {
  const { width, indent = "" } = options
  const headings = columns.some(({ heading }) => heading !== undefined)
    ? [columns.map(({ heading }) => heading ?? "")]
    : []
  const lines = [...headings, ...rows].map((row) => row.map(oneLine))
  const natural = columns.map((_, index) => Math.max(0, ...lines.map((row) => textColumns(row[index] ?? ""))))
  const widths = width === undefined ? natural : fitWidths(columns, natural, width - indent.length)
  const shown = columns.flatMap((column, index) => {
    const columnWidth = widths[index] ?? 0
    return columnWidth === 0 ? [] : [{ column, index, columnWidth }]
  })
  return lines.map(
    (row) =>
      indent +
      shown
        .map(({ column, index, columnWidth }) => cell(row[index] ?? "", columnWidth, column))
        .join(" ".repeat(GAP))
        .trimEnd(),
  )
}

function cell(text: string, width: number, { align }: TableColumn): string {
  if (align !== "right") return fitColumn(text, width)
  const cut = cutToColumns(text, width)
  return " ".repeat(Math.max(0, width - textColumns(cut))) + cut
}

/** Shortens the widest flexible columns first; leaves the right ones out when that is not enough. */
function fitWidths(columns: readonly TableColumn[], natural: readonly number[], width: number): readonly number[] {
  const marked = columns.flatMap(({ flexible }, index) => (flexible === true ? [index] : []))
  const flexible = marked.length === 0 ? [columns.length - 1] : marked
  const widths = [...natural]
  const excess = (): number => {
    const used = widths.filter((columnWidth) => columnWidth > 0)
    return used.reduce((sum, columnWidth) => sum + columnWidth, 0) + GAP * Math.max(0, used.length - 1) - width
  }
  while (excess() > 0) {
    const widest = flexible.reduce((best, index) => ((widths[index] ?? 0) > (widths[best] ?? 0) ? index : best))
    const current = widths[widest] ?? 0
    if (current <= MIN_FLEXIBLE) break
    widths[widest] = current - 1
  }
  for (const index of flexible.toReversed()) {
    if (excess() <= 0) break
    if (index > 0) widths[index] = 0
  }
  return widths
}
