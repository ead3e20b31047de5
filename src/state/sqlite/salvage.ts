import { DatabaseSync } from "node:sqlite"
import type { SQLOutputValue } from "node:sqlite"
import type { DatabasePages } from "./file-format/database-pages.ts"
import { surveyPages } from "./file-format/page-survey.ts"
import type { CatalogueEntry } from "./file-format/page-survey.ts"
import { plausibleSql } from "./plausible-values.ts"
import { quoted, recoverRows } from "./recover-rows.ts"
import { TABLES, createTableSql } from "./schema.ts"
import { isStatementError, isUnreadable } from "./store-failure.ts"

/** How many messages were copied. `total` is undefined when the damaged file does not tell how many there were. */
export interface SalvagedMessages {
  readonly saved: number
  readonly total: number | undefined
}

/**
 * Copies every row that SQLite can still read from the damaged database `from` into the empty database `to`, and then the rows that are
 * still on its `pages`. Search tables and derived tables are left out: the schema setup builds them from the messages. Returns undefined
 * when there is nothing of a session database in `from`.
 */
export function salvage(from: string, to: string, pages: DatabasePages): SalvagedMessages | undefined {
  const source = new DatabaseSync(from, { timeout: 5000, defensive: false })
  // A separate connection: one that has found damage refuses to write, to any attached database.
  const target = new DatabaseSync(to, { enableForeignKeyConstraints: false })
  try {
    return copyReadable({ source, target }, pages)
  } finally {
    source.close()
    target.close()
  }
}

function copyReadable(databases: Databases, pages: DatabasePages): SalvagedMessages | undefined {
  const { source, target } = databases
  const survey = surveyPages(pages)
  const catalogue = distinct([...readCatalogue(source), ...survey.catalogue])
  const tables = catalogue.filter((entry) => entry.type === "table" && isCopied(entry, catalogue))
  target.exec("BEGIN")
  createTables(target, tables)
  for (const { name } of tables) copyTable(name, databases)
  recoverRows({ pages, survey }, target, [...new Set([...tables.map(({ name }) => name), "sessions", "messages"])])
  const saved = count(target, "SELECT count(*) AS found FROM messages") ?? 0
  const isSessionDatabase = tables.some(({ name }) => name === "messages" || name === "sessions")
  if (!isSessionDatabase && saved === 0 && count(target, "SELECT count(*) AS found FROM sessions") === 0) {
    target.exec("ROLLBACK")
    return undefined
  }
  completeSessions(databases)
  for (const { type, sql } of catalogue) if (type !== "table" && !DERIVED.test(sql)) tryExec(target, sql)
  target.exec("COMMIT")
  const total = countMessages(source)
  return { saved, total: total === undefined ? undefined : Math.max(saved, total) }
}

/** What SQLite has read comes first and wins. */
function distinct(entries: readonly CatalogueEntry[]): readonly CatalogueEntry[] {
  const found = new Map<string, CatalogueEntry>()
  for (const entry of entries) {
    const key = `${entry.type} ${entry.name}`
    if (!found.has(key)) found.set(key, entry)
  }
  return [...found.values()]
}

interface Databases {
  readonly source: DatabaseSync
  readonly target: DatabaseSync
}

/** In the definitions of tables that triggers fill, and of these triggers. */
const DERIVED = /messages_fts|session_activity|message_clock/

function readCatalogue(source: DatabaseSync): readonly CatalogueEntry[] {
  // Without this SQLite refuses to read any table when a single catalogue entry is damaged.
  source.exec("PRAGMA writable_schema = ON")
  const select = `SELECT rowid AS ${ROW_ID}, type, name, sql FROM sqlite_master WHERE rowid BETWEEN ? AND ? ORDER BY rowid`
  return [...readableRows(source, select, { low: 1n, high: MAX_CATALOGUE_ROWS })].flatMap(({ type, name, sql }) =>
    typeof type === "string" && typeof name === "string" && typeof sql === "string" ? [{ type, name, sql }] : [],
  )
}

const MAX_CATALOGUE_ROWS = 1000n
const ROW_ID = "salvaged_row_id"

function isCopied({ name, sql }: CatalogueEntry, catalogue: readonly CatalogueEntry[]): boolean {
  if (DERIVED.test(sql) || name.startsWith("sqlite_") || isVirtual(sql)) return false
  // A virtual table keeps its data in tables that have its name as a prefix. They are useless without it.
  return !catalogue.some((other) => isVirtual(other.sql) && name.startsWith(`${other.name}_`))
}

function isVirtual(sql: string): boolean {
  return /^CREATE\s+VIRTUAL/i.test(sql)
}

function createTables(target: DatabaseSync, entries: readonly CatalogueEntry[]): void {
  for (const { sql } of entries) tryExec(target, sql)
  for (const table of TABLES) if (!DERIVED.test(table.name)) target.exec(createTableSql(table))
}

function copyTable(table: string, { source, target }: Databases): void {
  const columns = commonColumns(table, { source, target })
  const range = columns.length === 0 ? undefined : rowIdRange(source, table)
  if (range === undefined) return
  const names = columns.map(quoted).join(", ")
  const select = `SELECT _rowid_ AS ${ROW_ID}, ${names} FROM ${quoted(table)} NOT INDEXED
    WHERE _rowid_ BETWEEN ? AND ?${plausible(table, columns)} ORDER BY _rowid_`
  const insert = target.prepare(
    `INSERT OR IGNORE INTO ${quoted(table)}(_rowid_, ${names}) VALUES (?, ${columns.map(() => "?").join(", ")})`,
  )
  for (const row of readableRows(source, select, range)) {
    insert.run(row[ROW_ID] ?? null, ...columns.map((column) => row[column] ?? null))
  }
}

function commonColumns(table: string, { source, target }: Databases): readonly string[] {
  const columnsIn = (db: DatabaseSync): readonly string[] =>
    tryRead(() => db.prepare(`PRAGMA table_info(${quoted(table)})`).all())?.map((row) => String(row["name"])) ?? []
  const present = new Set(columnsIn(target))
  return columnsIn(source).filter((column) => present.has(column))
}

function plausible(table: string, present: readonly string[]): string {
  const columns = TABLES.find(({ name }) => name === table)?.columns ?? []
  return columns
    .filter(({ name }) => present.includes(name))
    .map(({ name, definition }) => plausibleSql(name, definition))
    .join("")
}

interface RowIdRange {
  readonly low: bigint
  readonly high: bigint
}

/** Undefined for a table without row ids. Hermes has none of its own that must be copied. */
function rowIdRange(source: DatabaseSync, table: string): RowIdRange | undefined {
  const name = quoted(table)
  const limit = (sql: string): bigint | undefined => {
    const value = tryRead(() => {
      const statement = source.prepare(sql)
      statement.setReadBigInts(true)
      return statement.get()
    })?.["value"]
    return typeof value === "bigint" ? value : undefined
  }
  if (tryRead(() => source.prepare(`SELECT _rowid_ FROM ${name} LIMIT 0`)) === undefined) return undefined
  const estimates = [
    `SELECT max(_rowid_) AS value FROM ${name} NOT INDEXED`,
    `SELECT max(seq) AS value FROM sqlite_sequence WHERE name = '${table.replaceAll("'", "''")}'`,
    ...indexesOf(source, table).map((index) => `SELECT max(_rowid_) AS value FROM ${name} INDEXED BY ${quoted(index)}`),
  ]
  const high = firstDefined(estimates, limit)
  return {
    low: limit(`SELECT min(_rowid_) AS value FROM ${name} NOT INDEXED`) ?? 1n,
    high: high ?? ASSUMED_HIGHEST_ROW_ID,
  }
}

function indexesOf(source: DatabaseSync, table: string): readonly string[] {
  return (
    tryRead(() => source.prepare(`PRAGMA index_list(${quoted(table)})`).all())?.map((row) => String(row["name"])) ?? []
  )
}

function firstDefined<T, U>(values: readonly T[], read: (value: T) => U | undefined): U | undefined {
  for (const value of values) {
    const found = read(value)
    if (found !== undefined) return found
  }
  return undefined
}

const ASSUMED_HIGHEST_ROW_ID = 1n << 20n

/**
 * Yields the readable rows of a range of row ids. Where reading fails, the rest of the range is split in two and each half is tried.
 * Wide ranges come first: when a page near the root is damaged, the limit then spreads the attempts evenly.
 */
function* readableRows(
  source: DatabaseSync,
  select: string,
  range: RowIdRange,
): Generator<Readonly<Record<string, SQLOutputValue>>, void, void> {
  const queue: RowIdRange[] = [range]
  for (let next = 0; next < queue.length && next < MAX_RANGES; next += 1) {
    const { low: first, high } = queue[next] ?? { low: 1n, high: 0n }
    let low = first
    try {
      // A new statement for each range: one that has failed fails once more when it is used again.
      const statement = source.prepare(select)
      // Damaged numbers may be too large for a JavaScript number.
      statement.setReadBigInts(true)
      for (const row of statement.iterate(low, high)) {
        yield row
        const id = row[ROW_ID]
        if (typeof id === "bigint" && id >= low) low = id + 1n
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error
      const middle = low + (high - low) / 2n
      if (low < high) queue.push({ low, high: middle }, { low: middle + 1n, high })
    }
  }
}

const MAX_RANGES = 20_000

/** Messages of lost sessions get a session, no session continues a lost one, and every title is unique. */
function completeSessions({ source, target }: Databases): void {
  for (const { name, definition } of TABLES.find(({ name: table }) => table === "sessions")?.columns ?? []) {
    tryExec(target, `ALTER TABLE sessions ADD COLUMN ${name} ${definition}`) // an old database lacks some
  }
  target.exec(`
    INSERT OR IGNORE INTO sessions(id, source, started_at, message_count)
      SELECT session_id, 'cli', min(timestamp), count(*) FROM messages
      WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id;
    UPDATE sessions SET title = NULL WHERE title IS NOT NULL
      AND rowid NOT IN (SELECT min(rowid) FROM sessions WHERE title IS NOT NULL GROUP BY title);
    UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id NOT IN (SELECT id FROM sessions);
    DELETE FROM state_meta WHERE key = 'schema_fingerprint';`)
  // Ids of lost messages must not be used again: other files may refer to them.
  const highest = count(source, "SELECT seq AS found FROM sqlite_sequence WHERE name = 'messages'") ?? 0
  target.prepare("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'messages'").run(highest)
}

/** The first source that can be read: an index, the rows themselves, the search table, the counters of the sessions. */
function countMessages(source: DatabaseSync): number | undefined {
  return firstDefined(
    [
      "SELECT count(*) AS found FROM messages",
      "SELECT count(*) AS found FROM messages NOT INDEXED",
      "SELECT count(*) AS found FROM messages_fts_docsize",
      "SELECT sum(message_count) AS found FROM sessions",
    ],
    (sql) => count(source, sql),
  )
}

function count(db: DatabaseSync, sql: string): number | undefined {
  const found = tryRead(() => db.prepare(sql).get())?.["found"]
  return typeof found === "number" ? found : undefined
}

function tryExec(db: DatabaseSync, sql: string): void {
  tryRead(() => db.exec(sql))
}

/** Undefined when the database is damaged where `read` needs it. */
function tryRead<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isUnreadable(error) && !isStatementError(error)) throw error
    return undefined
  }
}
