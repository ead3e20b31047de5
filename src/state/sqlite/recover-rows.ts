import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { DatabasePages } from "./file-format/database-pages.ts"
import type { PageSurvey } from "./file-format/page-survey.ts"
import { decodeRecord } from "./file-format/record.ts"
import type { StoredValue } from "./file-format/record.ts"
import { leafRows } from "./file-format/table-page.ts"
import { isPlausible, isRowIdAlias } from "./plausible-values.ts"
import { TABLES } from "./schema.ts"

/** The rows of these tables are recognised also on pages that no table reaches. */
const RECOGNISED: readonly string[] = ["sessions", "messages"]

/**
 * Copies the rows that are still on the pages of the file but that SQLite cannot reach, because a page on the way to them is lost. A row
 * that is in the target already stays as it is. Deleted rows come back only if the table and the list of free pages are both damaged.
 */
export function recoverRows(
  { pages, survey }: { readonly pages: DatabasePages; readonly survey: PageSurvey },
  target: DatabaseSync,
  tables: readonly string[],
): void {
  const inserters = new Map(tables.map((table) => [table, rowInserter(target, table)]))
  for (const [table, insert] of inserters) {
    for (const page of survey.leavesOf(table)) {
      for (const row of leafRows(pages, page)) insert(row.rowId, decodeRecord(row.record))
    }
  }
  const incomplete = RECOGNISED.filter((table) => !survey.isComplete(table)).flatMap(
    (table) => inserters.get(table) ?? [],
  )
  if (incomplete.length === 0) return
  for (const page of survey.unreachable()) {
    for (const row of leafRows(pages, page)) {
      const values = decodeRecord(row.record)
      for (const insert of incomplete) insert(row.rowId, values)
    }
  }
}

type InsertRow = (rowId: bigint, values: readonly StoredValue[] | undefined) => void

/** Ignores what cannot be a row of the table. A row that was stored before the last columns were added has fewer values. */
function rowInserter(target: DatabaseSync, table: string): InsertRow {
  const names = target
    .prepare(`PRAGMA table_info(${quoted(table)})`)
    .all()
    .map((row) => String(row["name"]))
  const definitions = new Map(
    TABLES.find(({ name }) => name === table)?.columns.map(({ name, definition }) => [name, definition]),
  )
  const columns = names.map((name) => ({ name, definition: definitions.get(name) ?? "" }))
  const required = 1 + columns.findLastIndex(({ definition }) => /NOT NULL(?!.*DEFAULT)|PRIMARY KEY/.test(definition))
  const statements = new Map<number, StatementSync>()
  const statementFor = (count: number): StatementSync => {
    const prepared = statements.get(count)
    if (prepared !== undefined) return prepared
    const stored = columns.slice(0, count).filter(({ definition }) => !isRowIdAlias(definition))
    const statement = target.prepare(
      `INSERT OR IGNORE INTO ${quoted(table)}(${["_rowid_", ...stored.map(({ name }) => quoted(name))].join(", ")})
       VALUES (?${", ?".repeat(stored.length)})`,
    )
    statements.set(count, statement)
    return statement
  }
  return (rowId, values) => {
    if (values === undefined || values.length < required || values.length > columns.length) return
    if (!values.every((value, index) => isPlausible(value, columns[index]?.definition ?? ""))) return
    const stored = values.filter((_, index) => !isRowIdAlias(columns[index]?.definition ?? ""))
    statementFor(values.length).run(rowId, ...stored)
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
