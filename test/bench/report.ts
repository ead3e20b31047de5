import type { Row, Target } from "./measurement.ts"

/** Undefined when the row has no target. */
export function meetsTarget({ ours, floor, target }: Row): boolean | undefined {
  if (target === undefined) return undefined
  if ("atMost" in target) return ours <= target.atMost
  if ("atLeast" in target) return ours >= target.atLeast
  return floor !== undefined && ours / floor <= target.ratio
}

/** Renders one aligned line for each row. */
export function renderTable(rows: readonly Row[]): string {
  const cells = [["", "ours", "floor", "ratio", "target", ""], ...rows.map(rowCells)]
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? []
  return cells
    .map((line) => line.map((cell, column) => pad(cell, column, widths[column] ?? 0)).join("  "))
    .map((line) => line.trimEnd())
    .join("\n")
}

/** A row for the result file, with its ratio and whether it meets the target. */
export function rowResult(row: Row): object {
  const ok = meetsTarget(row)
  return {
    ...row,
    ...(row.floor === undefined ? {} : { ratio: row.ours / row.floor }),
    ...(ok === undefined ? {} : { ok }),
  }
}

function rowCells(row: Row): readonly string[] {
  const ok = meetsTarget(row)
  return [
    row.name,
    `${amount(row.ours)} ${row.unit}`,
    row.floor === undefined ? "" : `${amount(row.floor)} ${row.unit}`,
    row.floor === undefined ? "" : (row.ours / row.floor).toFixed(2),
    row.target === undefined ? "" : targetText(row.target),
    ok === undefined ? "" : ok ? "ok" : "MISSED",
  ]
}

function targetText(target: Target): string {
  if ("atMost" in target) return `≤ ${amount(target.atMost)}`
  if ("atLeast" in target) return `≥ ${amount(target.atLeast)}`
  return `≤ ${target.ratio} ×`
}

/** Aligns names to the left and numbers to the right. */
function pad(cell: string, column: number, width: number): string {
  return column === 0 || column === 5 ? cell.padEnd(width) : cell.padStart(width)
}

function amount(value: number): string {
  if (Number.isInteger(value)) return String(value)
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)
}
