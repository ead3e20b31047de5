import { errorMessage } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { StoreInfo, StoreLogger } from "../store.ts"
import type { Database } from "./connection.ts"
import { number, numberOrNull, text } from "./row-values.ts"
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
 * Creates the full-text tables and their triggers, inside the caller's transaction. Returns what can be searched and the new schema
 * version. New tables are empty: `fillIndexes` adds the messages that exist already. When SQLite lacks FTS5, removes the triggers, so
 * that messages can still be written.
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
  if (!complete || (replaced.length > 0 && hasNul(db))) {
    for (const index of indexes) emptyIndex(db, index)
    writeFilledDownTo(db, number(db.get("SELECT COALESCE(max(id), 0) AS id FROM messages") ?? {}, "id"))
  }
  if (schemaVersion < INDEX_VERSION) db.run("UPDATE schema_version SET version = ?", INDEX_VERSION)
  return { search: trigrams ? "full" : "no-trigram", schemaVersion: Math.max(schemaVersion, INDEX_VERSION) }
}

/**
 * Adds a part of the messages that new full-text tables lack, the newest first. Returns how many messages may be left, and 0 at the end. A process that
 * is killed in between leaves the rest to the next one that opens the database; several processes can share the work.
 */
export function fillIndexes(db: Database): number {
  const high = readFilledDownTo(db)
  if (high === undefined) return 0
  const row = db.get(
    "SELECT min(id) AS low FROM (SELECT id FROM messages WHERE id <= ? ORDER BY id DESC LIMIT ?)",
    high,
    FILLED_AT_ONCE,
  )
  const low = row === undefined ? null : numberOrNull(row, "low")
  if (low === null) {
    db.run("DELETE FROM state_meta WHERE key = ?", FILL_KEY)
    return 0
  }
  for (const name of fullTextTables(db)) {
    db.run(
      `INSERT INTO ${name}(rowid, content) SELECT id, ${indexedText("messages")} FROM messages
       WHERE id BETWEEN ?1 AND ?2 AND id NOT IN (SELECT id FROM ${name}_docsize WHERE id BETWEEN ?1 AND ?2)`,
      low,
      high,
    )
  }
  writeFilledDownTo(db, low - 1)
  return low
}

/** Messages. Indexing one takes up to a millisecond. */
const FILLED_AT_ONCE = 200

/** Key of the highest id that is not in new full-text tables. The Python edition ignores it. */
const FILL_KEY = "search_index_fill"

function readFilledDownTo(db: Database): number | undefined {
  const row = db.get("SELECT value FROM state_meta WHERE key = ?", FILL_KEY)
  return row === undefined ? undefined : Number(text(row, "value"))
}

function writeFilledDownTo(db: Database, id: number): void {
  db.run(
    "INSERT INTO state_meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
    FILL_KEY,
    String(id),
  )
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

/** The full-text tables of this database, for `mergeFullText`. */
export function fullTextTables(db: Database): readonly string[] {
  return [WORDS, TRIGRAMS].map(({ name }) => name).filter((name) => tableExists(db, name))
}

/**
 * Does a part of the work of merging all segments of a table into one, which makes searches faster. Returns whether more is left. The
 * first part selects the segments.
 */
export function mergeFullText(db: Database, table: string, part: "first" | "next"): boolean {
  const changes = (): number => number(db.get("SELECT total_changes() AS changes") ?? {}, "changes")
  const before = changes()
  db.run(`INSERT INTO ${table}(${table}, rank) VALUES ('merge', ?)`, part === "first" ? -MERGED_PAGES : MERGED_PAGES)
  // FTS5 writes a row for the command itself.
  return changes() - before >= 2
}

/** Takes less than a tenth of a second. */
const MERGED_PAGES = 64

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
function emptyIndex(db: Database, index: IndexTable): void {
  db.exec(`DROP TABLE ${index.name}`)
  db.exec(index.create)
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
