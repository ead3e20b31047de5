import { existsSync, statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import type { ReportProgress } from "../../base/progress.ts"
import { errorMessage } from "../../base/system-error.ts"
import { openDatabasePages } from "./file-format/database-pages.ts"
import { readFreePages } from "./file-format/free-pages.ts"
import { TABLES } from "./schema.ts"
import { isStatementError, isUnreadable, toStoreError } from "./store-failure.ts"

export type Health =
  /** `checked` is "a part" after a quick check of a large database. */
  | { readonly state: "healthy"; readonly checked: "everything" | "a part" }
  | { readonly state: "damaged"; readonly problems: readonly string[] }
  /** For example because the disk is full. That is no damage. */
  | { readonly state: "unchecked"; readonly reason: string }

export interface CheckOptions {
  /** `quick` takes less than a second for any size: a large database is only checked in part. */
  readonly scope: "quick" | "full"
  readonly progress?: ReportProgress
}

/** Databases up to this size are checked completely, which takes less than a second. */
const SMALL_BYTES = 32 * 1024 * 1024
const SAMPLED_ROWS = 200
const MAX_PROBLEMS = 20

export async function checkHealth(path: string, options: CheckOptions): Promise<Health> {
  if (!existsSync(path)) return { state: "unchecked", reason: `There is no session database at ${path}.` }
  const isPartial = options.scope === "quick" && statSync(path).size > SMALL_BYTES
  try {
    const problems = isPartial
      ? damageIn(() => withDatabase(path, quickProblems))
      : await findProblems(path, { limit: MAX_PROBLEMS, ...options })
    return problems.length === 0
      ? { state: "healthy", checked: isPartial ? "a part" : "everything" }
      : { state: "damaged", problems }
  } catch (error) {
    return { state: "unchecked", reason: toStoreError(error, path).message }
  }
}

/**
 * Checks everything and stops after `limit` problems. Reads one table after the other, so that other work and signals come in between.
 * Throws when the database cannot be checked, for example because it is locked. That is no damage.
 */
export async function findProblems(
  path: string,
  { limit, progress }: { readonly limit: number; readonly progress?: ReportProgress },
): Promise<readonly string[]> {
  const problems: string[] = []
  const step = "checking the session database"
  try {
    progress?.({ step })
    const tables: string[] = []
    problems.push(...damageIn(() => withDatabase(path, (db) => structureProblems(db, tables))))
    for (const [done, table] of tables.entries()) {
      if (problems.length >= limit) return problems.slice(0, limit)
      progress?.({ step, done, total: tables.length })
      await new Promise((resolve) => setImmediate(resolve))
      problems.push(...damageIn(() => withDatabase(path, (db) => tableProblems(db, table))))
    }
    problems.push(...damageIn(() => withDatabase(path, indexProblems)), ...freeListProblems(path))
    return problems.slice(0, limit)
  } finally {
    progress?.(undefined)
  }
}

/** What SQLite cannot read is damage too. */
function damageIn(check: () => readonly string[]): readonly string[] {
  try {
    return check()
  } catch (error) {
    if (!isUnreadable(error) && !isStatementError(error)) throw error
    return [errorMessage(error)]
  }
}

/** Collects the names of all tables. Search tables come last: checking one takes longer than all others together. */
function structureProblems(db: DatabaseSync, tables: string[]): readonly string[] {
  db.prepare("PRAGMA journal_mode").get()
  const rows = db.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY sql LIKE 'CREATE VIRTUAL%', name LIKE 'messages_fts%'",
  )
  tables.push(...rows.all().map((row) => String(row["name"])))
  db.prepare("SELECT count(*) FROM sessions").get()
  const duplicate = db.prepare("SELECT name FROM sqlite_master GROUP BY type, name HAVING count(*) > 1").get()
  return duplicate === undefined ? [] : [`The catalogue contains ${String(duplicate["name"])} twice.`]
}

function tableProblems(db: DatabaseSync, table: string): readonly string[] {
  const rows = db.prepare(`PRAGMA integrity_check("${table.replaceAll('"', '""')}")`).all()
  return rows.map((row) => String(row["integrity_check"])).filter((text) => text !== "ok")
}

/** Checks that every message has a row in each search table. A continuation starts with copies, which are not indexed again. */
function indexProblems(db: DatabaseSync): readonly string[] {
  const counted = (sql: string): number => Number(db.prepare(sql).get()?.["found"])
  return ["messages_fts", "messages_fts_trigram"].flatMap((table) => {
    const rows = `${table}_docsize`
    if (db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(rows) === undefined) return []
    const missing = counted(
      `SELECT count(*) AS found FROM messages m WHERE m.id NOT IN (SELECT id FROM ${rows}) AND NOT EXISTS (
         SELECT 1 FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
         WHERE s.id = m.session_id AND p.end_reason = 'compression')`,
    )
    const surplus = counted(`SELECT count(*) AS found FROM ${rows} WHERE id NOT IN (SELECT id FROM messages)`)
    return [
      ...(missing === 0 ? [] : [`Messages that are missing from the search table ${table}: ${missing}.`]),
      ...(surplus === 0 ? [] : [`Deleted messages that are still in the search table ${table}: ${surplus}.`]),
    ]
  })
}

/** The check of a single table leaves the free pages out. */
function freeListProblems(path: string): readonly string[] {
  const pages = openDatabasePages(path)
  try {
    return readFreePages(pages) === undefined ? ["The list of free pages is damaged."] : []
  } finally {
    pages.close()
  }
}

/** The catalogue, and the oldest and newest rows. SQLite itself notices a file that is too short. */
function quickProblems(db: DatabaseSync): readonly string[] {
  const problems = [...structureProblems(db, [])]
  for (const { name } of TABLES) {
    if (db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(name) === undefined) {
      problems.push(`The table ${name} is missing.`)
    }
  }
  for (const table of ["sessions", "messages"]) {
    for (const order of ["ASC", "DESC"]) {
      const rows = db.prepare(`SELECT * FROM ${table} NOT INDEXED ORDER BY rowid ${order} LIMIT ${SAMPLED_ROWS}`)
      for (const row of rows.iterate()) void row // reading is the check
    }
  }
  return problems
}

function withDatabase<T>(path: string, work: (db: DatabaseSync) => T): T {
  // Blocking the thread is acceptable here: the user requested the check, or nothing works without it.
  const db = new DatabaseSync(path, { timeout: 1000, readOnly: true, defensive: false })
  try {
    return work(db)
  } finally {
    db.close()
  }
}
