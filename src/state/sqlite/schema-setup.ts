import { errorMessage } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLogger } from "../store.ts"
import type { Connection, Database } from "./connection.ts"
import { DERIVED_DEFINITIONS, setUpDerivedTables } from "./derived-tables.ts"
import { FULL_TEXT_DEFINITIONS, hasFullTextModule, setUpFullText } from "./full-text.ts"
import type { SearchState } from "./full-text.ts"
import { number, text, textOrNull } from "./row-values.ts"
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

/**
 * Creates or updates the schema. The complete check runs only after a change: its result is stored together with SQLite's schema
 * counter, which every DDL statement and VACUUM increases. An unchanged database is opened with three lookups.
 */
export async function setUpSchema(connection: Connection, log: StoreLogger): Promise<SchemaInfo> {
  const cached = await connection.read(cachedSchemaInfo)
  // Another process may have done the work while this one waited for the lock.
  return cached ?? (await connection.write((db) => cachedSchemaInfo(db) ?? updateSchema(db, log)))
}

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

function updateSchema(db: Database, log: StoreLogger): SchemaInfo {
  requireNulRoundTrip(db)
  for (const table of TABLES) {
    db.exec(createTableSql(table))
    addMissingColumns(db, table, log)
  }
  for (const index of INDEXES) tryExec(db, index, log)
  const { search, schemaVersion } = setUpFullText(db, { schemaVersion: currentVersion(db), log })
  setUpDerivedTables(db)
  db.run(
    "INSERT INTO state_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    FINGERPRINT_KEY,
    fingerprint(db, search),
  )
  return { schemaVersion, search }
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
