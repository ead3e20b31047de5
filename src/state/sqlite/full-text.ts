import { errorMessage } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { StoreInfo, StoreLogger } from "../store.ts"
import type { Database } from "./connection.ts"
import { text } from "./row-values.ts"
import { INDEX_VERSION } from "./schema.ts"

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
  if (schemaVersion < INDEX_VERSION) for (const index of [WORDS, TRIGRAMS]) dropIndex(db, index)
  if (!trigrams) dropTriggers(db, TRIGRAMS)
  const complete = indexes.every((index) => isComplete(db, index))
  const replaced = indexes.filter((index) => replaceTriggers(db, index))
  for (const index of indexes) createIndex(db, index)
  if (!complete || (replaced.length > 0 && hasNul(db))) for (const index of indexes) rebuildIndex(db, index)
  if (schemaVersion < INDEX_VERSION) db.run("UPDATE schema_version SET version = ?", INDEX_VERSION)
  return { search: trigrams ? "full" : "no-trigram", schemaVersion: Math.max(schemaVersion, INDEX_VERSION) }
}

/** Takes all messages of a session out of the full-text tables. */
export function removeFromIndexes(db: Database, session: SessionId): void {
  for (const { name } of [WORDS, TRIGRAMS]) {
    if (!tableExists(db, name)) continue
    db.run(`DELETE FROM ${name} WHERE rowid IN (SELECT id FROM messages WHERE session_id = ?)`, session)
  }
}

/** Adds the messages of a session that are not in the full-text tables. */
export function addToIndexes(db: Database, session: SessionId): void {
  for (const { name } of [WORDS, TRIGRAMS]) {
    if (!tableExists(db, name)) continue
    db.run(
      `INSERT INTO ${name}(rowid, content) SELECT id, ${indexedText("messages")} FROM messages
       WHERE session_id = ? AND id NOT IN (SELECT id FROM ${name}_docsize)`,
      session,
    )
  }
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

/**
 * The triggers of the Python edition index text that contains a NUL, with a result that depends on the version of SQLite: older ones
 * stop at the NUL, and each then finds the other's index malformed. Drops them, except from tables of its later versions, which are
 * filled in another way. Returns whether there were any.
 */
function replaceTriggers(db: Database, index: IndexTable): boolean {
  if (sqlOf(db, index.name)?.includes("content=") === true) return false
  const others = triggersOf(index).filter((trigger) => sqlOf(db, trigger.name)?.endsWith(trigger.body) === false)
  for (const trigger of others) db.exec(`DROP TRIGGER ${trigger.name}`)
  return others.length > 0
}

function hasNul(db: Database): boolean {
  return db.get("SELECT 1 FROM messages WHERE instr(CAST(content AS BLOB), x'00') > 0 LIMIT 1") !== undefined
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

/** Drops the table first: deleting rows would leave behind what another version of SQLite has indexed differently. */
function rebuildIndex(db: Database, index: IndexTable): void {
  db.exec(`DROP TABLE ${index.name}`)
  db.exec(index.create)
  db.exec(`INSERT INTO ${index.name}(rowid, content) SELECT id, ${indexedText("messages")} FROM messages`)
}

interface Trigger {
  readonly name: string
  readonly body: string
  readonly create: string
}

/** The names are shared with the Python edition, which keeps these triggers. A renamed trigger would index every message twice. */
function triggersOf(index: IndexTable): readonly Trigger[] {
  const remove = `DELETE FROM ${index.name} WHERE rowid = old.id;`
  const add = `INSERT INTO ${index.name}(rowid, content) VALUES (new.id, ${indexedText("new")});`
  const actions = {
    insert: `AFTER INSERT ON messages BEGIN ${add} END`,
    delete: `AFTER DELETE ON messages BEGIN ${remove} END`,
    // Later Python versions replace a trigger that other columns fire too.
    update: `AFTER UPDATE OF content, tool_name, tool_calls ON messages BEGIN ${remove} ${add} END`,
  }
  return Object.entries(actions).map(([event, body]) => {
    const name = `${index.name}_${event}`
    return { name, body, create: `CREATE TRIGGER IF NOT EXISTS ${name} ${body}` }
  })
}

function indexedText(row: string): string {
  return `COALESCE(${contentWithoutNul(row)}, '') || ' ' || COALESCE(${row}.tool_name, '') || ' ' || COALESCE(${row}.tool_calls, '')`
}

/** Structured content starts with a NUL, which is left out. Text with a NUL inside is indexed up to it, as older versions of SQLite do. */
function contentWithoutNul(row: string): string {
  const bytes = `CAST(${row}.content AS BLOB)`
  const rest = `substr(${bytes}, 1 + (substr(${bytes}, 1, 1) = x'00'))`
  const end = `CASE instr(${rest}, x'00') WHEN 0 THEN length(${rest}) ELSE instr(${rest}, x'00') - 1 END`
  return `CASE instr(${bytes}, x'00') WHEN 0 THEN ${row}.content ELSE CAST(substr(${rest}, 1, ${end}) AS TEXT) END`
}

function sqlOf(db: Database, name: string): string | undefined {
  const row = db.get("SELECT sql FROM sqlite_master WHERE name = ?", name)
  return row === undefined ? undefined : text(row, "sql")
}

function tableExists(db: Database, name: string): boolean {
  return db.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name) !== undefined
}
