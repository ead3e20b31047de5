import type { ReportProgress } from "../../base/progress.ts"
import { errorMessage } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLogger } from "../store.ts"
import type { Connection, Database } from "./connection.ts"
import { DERIVED_DEFINITIONS, setUpDerivedTables } from "./derived-tables.ts"
import { FULL_TEXT_DEFINITIONS, fillIndexes, hasFullTextModule, setUpFullText } from "./full-text.ts"
import type { SearchState } from "./full-text.ts"
import { number, numberOrNull, text, textOrNull } from "./row-values.ts"
import {
  INDEXES,
  INDEX_VERSION,
  SCHEMA_VERSION,
  TABLES,
  createTableSql,
  definitionHash,
  readSchemaVersion,
} from "./schema.ts"
import type { Table } from "./schema.ts"

export interface SchemaInfo {
  readonly schemaVersion: number
  readonly search: SearchState
}

/** Key of the stored result of the last complete check. The Python edition ignores it. */
const FINGERPRINT_KEY = "schema_fingerprint"

export interface SchemaSetupOptions {
  readonly log: StoreLogger
  /** Waits between transactions, so that other processes can save their messages. */
  readonly pause: (ms: number) => Promise<void>
  readonly progress?: ReportProgress
}

/**
 * Creates or updates the schema. The complete check runs only after a change: its result is stored together with SQLite's schema
 * counter, which every DDL statement and VACUUM increases. An unchanged database is opened with three lookups. The work is done in
 * short transactions; each step can be repeated, and other processes may do it at the same time.
 */
export async function setUpSchema(connection: Connection, options: SchemaSetupOptions): Promise<SchemaInfo> {
  const { log } = options
  const cached = await connection.read(cachedSchemaInfo)
  if (cached !== undefined) return cached
  // Another process may have done the work while this one waited for the lock.
  const done = await connection.write((db) => {
    const present = cachedSchemaInfo(db)
    if (present !== undefined) return present
    createTables(db, log)
    return isSmall(db) ? completeAtOnce(db, log) : undefined
  })
  if (done !== undefined) return done
  const missing = await connection.read(missingIndexes)
  for (const index of missing) await connection.write((db) => tryExec(db, index, log))
  const found = await connection.write((db) => setUpDerived(db, log))
  await fillSearchTables(connection, options)
  await connection.write((db) => storeFingerprint(db, found.search))
  return found
}

async function fillSearchTables(connection: Connection, { pause, progress }: SchemaSetupOptions): Promise<void> {
  let total = 0
  try {
    for (;;) {
      const started = performance.now()
      const left = await connection.write(fillIndexes)
      if (left === 0) return
      total = Math.max(total, left)
      progress?.({ step: "building the search index", done: total - left, total })
      await pause(Math.min(performance.now() - started, MAX_PAUSE_MS))
    }
  } finally {
    if (total > 0) progress?.(undefined)
  }
}

const MAX_PAUSE_MS = 100

/** Describes the schema without changing it, for read-only connections. */
export function readSchemaInfo(db: Database): SchemaInfo {
  if (!hasTable(db, "schema_version") || !hasTable(db, "sessions")) {
    throw new StoreError("unavailable", "The file does not contain a session database.")
  }
  const searchable = hasFullTextModule(db) && hasTable(db, "messages_fts")
  const search = !searchable ? "none" : hasTable(db, "messages_fts_trigram") ? "full" : "no-trigram"
  return { schemaVersion: readSchemaVersion(db) ?? 0, search }
}

function cachedSchemaInfo(db: Database): SchemaInfo | undefined {
  if (!hasTable(db, "state_meta") || !hasTable(db, "schema_version")) return undefined
  const row = db.get("SELECT value FROM state_meta WHERE key = ?", FINGERPRINT_KEY)
  if (row === undefined || text(row, "value") !== fingerprint(db, "full")) return undefined
  const info = readSchemaInfo(db)
  // An old schema version or an incomplete search index needs the complete check despite a matching fingerprint.
  return info.schemaVersion >= INDEX_VERSION && info.search === "full" ? info : undefined
}

/** A transaction of its own for every step would only delay the first start. */
function isSmall(db: Database): boolean {
  return (numberOrNull(db.get("SELECT max(id) AS id FROM messages") ?? {}, "id") ?? 0) <= SMALL_MESSAGES
}

const SMALL_MESSAGES = 200

function completeAtOnce(db: Database, log: StoreLogger): SchemaInfo {
  for (const index of INDEXES) tryExec(db, index, log)
  const found = setUpDerived(db, log)
  while (fillIndexes(db) > 0);
  storeFingerprint(db, found.search)
  return found
}

function setUpDerived(db: Database, log: StoreLogger): SchemaInfo {
  const { search, schemaVersion } = setUpFullText(db, { schemaVersion: currentVersion(db), log })
  setUpDerivedTables(db)
  return { search, schemaVersion }
}

function createTables(db: Database, log: StoreLogger): void {
  requireNulRoundTrip(db)
  for (const table of TABLES) {
    db.exec(createTableSql(table))
    addMissingColumns(db, table, log)
  }
}

function missingIndexes(db: Database): readonly string[] {
  const present = new Set(db.all("SELECT name FROM sqlite_master WHERE type = 'index'").map((row) => text(row, "name")))
  return INDEXES.filter((index) => !present.has(/IF NOT EXISTS (\w+)/.exec(index)?.[1] ?? ""))
}

function storeFingerprint(db: Database, search: SearchState): void {
  db.run(
    "INSERT INTO state_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    FINGERPRINT_KEY,
    fingerprint(db, search),
  )
}

function currentVersion(db: Database): number {
  const version = readSchemaVersion(db)
  if (version === undefined) {
    db.run("INSERT INTO schema_version(version) VALUES (?)", SCHEMA_VERSION)
    return SCHEMA_VERSION
  }
  if (version !== INDEX_VERSION || !wasCreatedHere(db)) return version
  // Earlier releases of this edition used the version that hides untitled sessions.
  db.run("UPDATE schema_version SET version = ?", SCHEMA_VERSION)
  return SCHEMA_VERSION
}

/** The Python edition declares the reference as a constraint of the table. */
function wasCreatedHere(db: Database): boolean {
  const row = db.get("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'sessions'")
  return row !== undefined && text(row, "sql").includes("parent_session_id TEXT REFERENCES sessions(id)")
}

function addMissingColumns(db: Database, table: Table, log: StoreLogger): void {
  const existing = new Set(db.all(`PRAGMA table_info(${table.name})`).map((row) => text(row, "name").toLowerCase()))
  for (const column of table.columns) {
    if (existing.has(column.name)) continue
    tryExec(db, `ALTER TABLE ${table.name} ADD COLUMN ${column.name} ${column.definition}`, log)
  }
}

/** Skips a statement that fails: an old database may violate a new unique index, but is usable without it. */
function tryExec(db: Database, statement: string, log: StoreLogger): void {
  try {
    db.exec(statement)
  } catch (error) {
    log.debug(`Schema setup skipped "${statement}": ${errorMessage(error)}`)
  }
}

/** Structured content starts with a NUL. A version that truncates text there would silently destroy it. */
function requireNulRoundTrip(db: Database): void {
  const probe = "\u0000json:[1]"
  db.exec("CREATE TEMP TABLE IF NOT EXISTS hermes_nul_probe(value TEXT)")
  db.run("INSERT INTO temp.hermes_nul_probe(value) VALUES (?)", probe)
  const read = db.get("SELECT value FROM temp.hermes_nul_probe")
  db.exec("DROP TABLE temp.hermes_nul_probe")
  if (read !== undefined && textOrNull(read, "value") === probe) return
  throw new StoreError(
    "unavailable",
    "This version of Node truncates stored text at a NUL character, so sessions cannot be stored. Install Node 24.15 or newer.",
  )
}

/** Includes the search state: a check that ended without full search is repeated, because FTS5 may be available again. */
function fingerprint(db: Database, search: SearchState): string {
  const definitions = definitionHash([
    String(SCHEMA_VERSION),
    ...TABLES.map(createTableSql),
    ...INDEXES,
    ...FULL_TEXT_DEFINITIONS,
    ...DERIVED_DEFINITIONS,
  ])
  const counter = number(db.get("PRAGMA schema_version") ?? {}, "schema_version")
  return `${definitions}.${counter}.${process.versions.sqlite ?? ""}.${search}`
}

function hasTable(db: Database, name: string): boolean {
  return db.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name) !== undefined
}
