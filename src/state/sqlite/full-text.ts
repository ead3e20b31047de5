import { errorMessage } from "../../base/system-error.ts"
import type { StoreInfo, StoreLogger } from "../store.ts"
import type { Database } from "./connection.ts"
import { SCHEMA_VERSION } from "./schema.ts"

export type SearchState = StoreInfo["search"]

interface IndexTable {
  readonly name: string
  readonly create: string
}

const WORDS: IndexTable = {
  name: "messages_fts",
  create: "CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts USING fts5(content)",
}
const TRIGRAMS: IndexTable = {
  name: "messages_fts_trigram",
  create: "CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts_trigram USING fts5(content, tokenize='trigram')",
}

/** Part of the schema fingerprint. */
export const FULL_TEXT_DEFINITIONS: readonly string[] = [WORDS, TRIGRAMS].flatMap((index) => [
  index.create,
  ...triggersOf(index).map((trigger) => trigger.create),
])

export function hasFullTextModule(db: Database): boolean {
  return db.get("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'") !== undefined
}

/**
 * Creates and fills the full-text tables and their triggers, inside the caller's transaction. Returns what can be searched and the
 * new schema version. When SQLite lacks FTS5, removes the triggers, so that messages can still be written.
 */
export function setUpFullText(
  db: Database,
  options: { readonly schemaVersion: number; readonly log: StoreLogger },
): { readonly search: SearchState; readonly schemaVersion: number } {
  const { schemaVersion, log } = options
  if (!hasFullTextModule(db) || !canCreate(db, "fts5(content)", log)) {
    log.warning("SQLite was built without FTS5. Sessions are stored but cannot be searched.")
    for (const index of [WORDS, TRIGRAMS]) dropTriggers(db, index)
    return { search: "none", schemaVersion }
  }
  const trigrams = canCreate(db, "fts5(content, tokenize='trigram')", log)
  const indexes = trigrams ? [WORDS, TRIGRAMS] : [WORDS]
  // Before schema version 11 the tables indexed less text, so their rows cannot be reused.
  if (schemaVersion < SCHEMA_VERSION) for (const index of [WORDS, TRIGRAMS]) dropIndex(db, index)
  if (!trigrams) dropTriggers(db, TRIGRAMS)
  const complete = indexes.every((index) => isComplete(db, index))
  for (const index of indexes) createIndex(db, index)
  if (!complete) for (const index of indexes) rebuildIndex(db, index)
  if (schemaVersion < SCHEMA_VERSION) db.run("UPDATE schema_version SET version = ?", SCHEMA_VERSION)
  return { search: trigrams ? "full" : "no-trigram", schemaVersion: Math.max(schemaVersion, SCHEMA_VERSION) }
}

/** Merges the segments of the existing full-text tables. */
export function optimizeFullText(db: Database): void {
  for (const index of [WORDS, TRIGRAMS]) {
    if (tableExists(db, index.name)) db.run(`INSERT INTO ${index.name}(${index.name}) VALUES ('optimize')`)
  }
}

function canCreate(db: Database, using: string, log: StoreLogger): boolean {
  try {
    db.exec(`CREATE VIRTUAL TABLE temp.hermes_full_text_probe USING ${using}; DROP TABLE temp.hermes_full_text_probe`)
    return true
  } catch (error) {
    log.debug(`FTS5 cannot create ${using}: ${errorMessage(error)}`)
    return false
  }
}

/** True when the table and its triggers exist, so that no change can be missing from the index. */
function isComplete(db: Database, index: IndexTable): boolean {
  if (!tableExists(db, index.name)) return false
  return triggersOf(index).every(
    (trigger) => db.get("SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = ?", trigger.name) !== undefined,
  )
}

function createIndex(db: Database, index: IndexTable): void {
  db.exec(index.create)
  for (const trigger of triggersOf(index)) db.exec(trigger.create)
}

function dropIndex(db: Database, index: IndexTable): void {
  dropTriggers(db, index)
  db.exec(`DROP TABLE IF EXISTS ${index.name}`)
}

function dropTriggers(db: Database, index: IndexTable): void {
  for (const trigger of triggersOf(index)) db.exec(`DROP TRIGGER IF EXISTS ${trigger.name}`)
}

function rebuildIndex(db: Database, index: IndexTable): void {
  db.exec(`DELETE FROM ${index.name}`)
  db.exec(`INSERT INTO ${index.name}(rowid, content) SELECT id, ${indexedText("messages")} FROM messages`)
}

/** Names and bodies are shared with the Python edition. A renamed trigger would index every message twice. */
function triggersOf(index: IndexTable): readonly { readonly name: string; readonly create: string }[] {
  const remove = `DELETE FROM ${index.name} WHERE rowid = old.id;`
  const add = `INSERT INTO ${index.name}(rowid, content) VALUES (new.id, ${indexedText("new")});`
  const bodies = { insert: add, delete: remove, update: `${remove} ${add}` }
  return Object.entries(bodies).map(([event, body]) => {
    const name = `${index.name}_${event}`
    return {
      name,
      create: `CREATE TRIGGER IF NOT EXISTS ${name} AFTER ${event.toUpperCase()} ON messages BEGIN ${body} END`,
    }
  })
}

function indexedText(row: string): string {
  return `COALESCE(${row}.content, '') || ' ' || COALESCE(${row}.tool_name, '') || ' ' || COALESCE(${row}.tool_calls, '')`
}

function tableExists(db: Database, name: string): boolean {
  return db.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name) !== undefined
}
