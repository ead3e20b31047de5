import { errorMessage } from "../../base/system-error.ts"
import type { StoreFacts, StoreLog } from "../store.ts"
import type { Database } from "./connection.ts"
import { SCHEMA_VERSION } from "./schema.ts"

export type SearchState = StoreFacts["search"]

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

/** What set-up depends on; part of the schema fingerprint. */
export const FULL_TEXT_DEFINITIONS: readonly string[] = [WORDS, TRIGRAMS].flatMap((index) => [
  index.create,
  ...triggersOf(index).map((trigger) => trigger.create),
])

/** The registered modules are a list in memory: asking costs nothing and touches no file. */
export function hasFullTextModule(db: Database): boolean {
  return db.get("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'") !== undefined
}

/**
 * Tables, triggers and their contents, inside the caller's transaction. Returns what can be searched and the stamp the
 * file has afterwards. Without the module only the triggers go, so that messages can still be written.
 */
export function setUpFullText(
  db: Database,
  options: { readonly stamp: number; readonly log: StoreLog },
): { readonly search: SearchState; readonly stamp: number } {
  const { stamp, log } = options
  if (!hasFullTextModule(db) || !canCreate(db, "fts5(content)", log)) {
    log.warning("This SQLite has no full-text module; sessions are kept but cannot be searched.")
    for (const index of [WORDS, TRIGRAMS]) dropTriggers(db, index)
    return { search: "none", stamp }
  }
  const trigrams = canCreate(db, "fts5(content, tokenize='trigram')", log)
  const indexes = trigrams ? [WORDS, TRIGRAMS] : [WORDS]
  // Before 11 the tables held less text or none of their own: their rows cannot be mixed with ours.
  if (stamp < SCHEMA_VERSION) for (const index of [WORDS, TRIGRAMS]) dropIndex(db, index)
  if (!trigrams) dropTriggers(db, TRIGRAMS)
  const complete = indexes.every((index) => isComplete(db, index))
  for (const index of indexes) createIndex(db, index)
  if (!complete) for (const index of indexes) refill(db, index)
  if (stamp < SCHEMA_VERSION) db.run("UPDATE schema_version SET version = ?", SCHEMA_VERSION)
  return { search: trigrams ? "full" : "no-trigram", stamp: Math.max(stamp, SCHEMA_VERSION) }
}

/** Lets the index merge its segments; both tables where they exist. */
export function optimizeFullText(db: Database): void {
  for (const index of [WORDS, TRIGRAMS]) {
    if (tableExists(db, index.name)) db.run(`INSERT INTO ${index.name}(${index.name}) VALUES ('optimize')`)
  }
}

function canCreate(db: Database, using: string, log: StoreLog): boolean {
  try {
    db.exec(`CREATE VIRTUAL TABLE temp.hermes_full_text_probe USING ${using}; DROP TABLE temp.hermes_full_text_probe`)
    return true
  } catch (error) {
    log.debug(`The full-text module cannot build ${using}: ${errorMessage(error)}`)
    return false
  }
}

/** The table and all three of its triggers are there, so every change since it was filled has been indexed. */
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

function refill(db: Database, index: IndexTable): void {
  db.exec(`DELETE FROM ${index.name}`)
  db.exec(`INSERT INTO ${index.name}(rowid, content) SELECT id, ${indexedText("messages")} FROM messages`)
}

/** Names and texts are shared with the Python edition: a renamed trigger would index every message twice. */
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
