import { oneLine } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"
import { rowOf, span, wrapSpans } from "./spans.ts"

const SEPARATOR = " · "

/** The texts in rows, with a dot between them. */
export function joinedRows(texts: readonly string[], columns: number): readonly string[] {
  const rows: string[] = []
  for (const text of texts.map(oneLine)) {
    const last = rows.at(-1)
    const longer = last === undefined ? text : `${last}${SEPARATOR}${text}`
    if (last === undefined || textColumns(longer) > columns) rows.push(...wrapSpans([span(text)], columns).map(rowOf))
    else rows[rows.length - 1] = longer
  }
  return rows
}

/** As many of the texts as fit into one row. The one about Escape stays: how to get out matters most. */
export function joinedRow(texts: readonly string[], columns: number): string {
  const escape = texts.find((text) => text.startsWith("Esc"))
  const kept = new Set(escape === undefined ? [] : [escape])
  const joined = (more: string): string =>
    texts
      .filter((text) => kept.has(text) || text === more)
      .map(oneLine)
      .join(SEPARATOR)
  for (const text of texts) if (kept.size === 0 || textColumns(joined(text)) <= columns) kept.add(text)
  return joined("")
}
