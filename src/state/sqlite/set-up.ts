import { errorMessage } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLog } from "../store.ts"
import type { Connection, Database } from "./connection.ts"
import { DERIVED_DEFINITIONS, setUpDerivedTables } from "./derived-tables.ts"
import { FULL_TEXT_DEFINITIONS, hasFullTextModule, setUpFullText } from "./full-text.ts"
import type { SearchState } from "./full-text.ts"
import { number, text, textOrNull } from "./row-values.ts"
import { INDEXES, SCHEMA_VERSION, TABLES, createTableSql, definitionHash, schemaStamp } from "./schema.ts"
import type { Table } from "./schema.ts"

export interface SchemaFacts {
  readonly schemaVersion: number
  readonly search: SearchState
}

/** Where the result of the last full check is kept. Additive: the Python edition never reads it. */
const FINGERPRINT_KEY = "schema_fingerprint"

/**
 * Brings the file to the declared layout. The full check happens once per change: its result is stored with SQLite's own
 * schema counter, which every writer's DDL and VACUUM moves, so an unchanged file is opened with three point reads.
 */
export async function setUpSchema(connection: Connection, log: StoreLog): Promise<SchemaFacts> {
  const known = await connection.read((db) => knownFacts(db))
  // Another process may have done the work while this one waited for the lock.
  return known ?? (await connection.write((db) => knownFacts(db) ?? fullCheck(db, log)))
}

/** What a read-only connection can say without touching the file. */
export function readSchemaFacts(db: Database): SchemaFacts {
  if (!hasTable(db, "schema_version") || !hasTable(db, "sessions")) {
    throw new StoreError("unavailable", "The file holds no session database yet.")
  }
  const searchable = hasFullTextModule(db) && hasTable(db, "messages_fts")
  const search = !searchable ? "none" : hasTable(db, "messages_fts_trigram") ? "full" : "no-trigram"
  return { schemaVersion: schemaStamp(db) ?? 0, search }
}

function knownFacts(db: Database): SchemaFacts | undefined {
  if (!hasTable(db, "state_meta") || !hasTable(db, "schema_version")) return undefined
  const row = db.get("SELECT value FROM state_meta WHERE key = ?", FINGERPRINT_KEY)
  if (row === undefined || text(row, "value") !== fingerprint(db, "full")) return undefined
  const facts = readSchemaFacts(db)
  // A stamp below ours or a missing full-text module mean unfinished work, whatever the fingerprint says.
  return facts.schemaVersion >= SCHEMA_VERSION && facts.search === "full" ? facts : undefined
}

function fullCheck(db: Database, log: StoreLog): SchemaFacts {
  requireNulRoundTrip(db)
  for (const table of TABLES) {
    db.exec(createTableSql(table))
    addMissingColumns(db, table, log)
  }
  for (const index of INDEXES) attempt(db, index, log)
  if (schemaStamp(db) === undefined) db.run("INSERT INTO schema_version(version) VALUES (?)", SCHEMA_VERSION)
  const { search, stamp } = setUpFullText(db, { stamp: schemaStamp(db) ?? SCHEMA_VERSION, log })
  setUpDerivedTables(db)
  db.run(
    "INSERT INTO state_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    FINGERPRINT_KEY,
    fingerprint(db, search),
  )
  return { schemaVersion: stamp, search }
}

function addMissingColumns(db: Database, table: Table, log: StoreLog): void {
  const live = new Set(db.all(`PRAGMA table_info(${table.name})`).map((row) => text(row, "name").toLowerCase()))
  for (const column of table.columns) {
    if (live.has(column.name)) continue
    attempt(db, `ALTER TABLE ${table.name} ADD COLUMN ${column.name} ${column.definition}`, log)
  }
}

/** An old file may hold what a new index forbids (two equal titles); the store is usable without it. */
function attempt(db: Database, statement: string, log: StoreLog): void {
  try {
    db.exec(statement)
  } catch (error) {
    log.debug(`Set-up skipped "${statement}": ${errorMessage(error)}`)
  }
}

/** Structured content starts with a NUL. An engine that cuts text there would destroy it silently. */
function requireNulRoundTrip(db: Database): void {
  const probe = "\u0000json:[1]"
  db.exec("CREATE TEMP TABLE IF NOT EXISTS hermes_nul_probe(value TEXT)")
  db.run("INSERT INTO temp.hermes_nul_probe(value) VALUES (?)", probe)
  const read = db.get("SELECT value FROM temp.hermes_nul_probe")
  db.exec("DROP TABLE temp.hermes_nul_probe")
  if (read !== undefined && textOrNull(read, "value") === probe) return
  throw new StoreError(
    "unavailable",
    "This version of Node shortens stored text at a NUL character, so sessions are not written; install Node 24.15 or newer.",
  )
}

/** A check that ended without full search is never equal to this and is made again: the module may be back. */
function fingerprint(db: Database, search: SearchState): string {
  const definitions = definitionHash([
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
