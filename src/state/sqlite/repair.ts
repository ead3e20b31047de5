import { copyFileSync, existsSync, readdirSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Clock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { isCorrupt } from "./store-failure.ts"

export type Health = { readonly healthy: true } | { readonly healthy: false; readonly problems: readonly string[] }

export type RepairOutcome =
  | { readonly kind: "healthy" }
  | { readonly kind: "repaired"; readonly how: "catalogue" | "search-index"; readonly backup: string | undefined }
  | { readonly kind: "failed"; readonly message: string; readonly backup: string | undefined }

export function checkHealth(path: string): Health {
  if (!existsSync(path)) return { healthy: false, problems: [`There is no session database at ${path}.`] }
  try {
    return withDatabase(path, { readOnly: true }, (db) => {
      const problems = problemsOf(db)
      return problems.length === 0 ? { healthy: true } : { healthy: false, problems }
    })
  } catch (error) {
    return { healthy: false, problems: [errorMessage(error)] }
  }
}

/**
 * Repairs a damaged schema catalogue; never changes message or session rows. First deletes duplicate catalogue entries. If that is not
 * enough, deletes the search tables, which the next open rebuilds from the messages. When both fail, the file stays as it is then,
 * next to its backup.
 */
export function repairStore(path: string, options: { readonly backup: boolean; readonly clock: Clock }): RepairOutcome {
  if (checkHealth(path).healthy) return { kind: "healthy" }
  let backup: string | undefined
  try {
    if (options.backup) backup = backUp(path, options.clock)
    if (attempt(path, dropDuplicateEntries)) return { kind: "repaired", how: "catalogue", backup }
    if (attempt(path, dropSearchTables)) return { kind: "repaired", how: "search-index", backup }
    const health = checkHealth(path)
    const problems = health.healthy ? [] : health.problems
    return { kind: "failed", message: `The session database could not be repaired: ${problems.join("; ")}`, backup }
  } catch (error) {
    return { kind: "failed", message: `The session database could not be repaired: ${errorMessage(error)}`, backup }
  }
}

/** Copies the database with its write-ahead log and shared-memory file. */
function backUp(path: string, clock: Clock): string {
  const stamp = new Date(clock.now()).toISOString().replace(/[-:]/g, "").replace(/\..*$/, "").replace("T", "_")
  const recent = recentBackup(path)
  if (recent !== undefined) return recent
  const target = `${path}.malformed-backup-${stamp}`
  copyFileSync(path, target)
  for (const suffix of ["-wal", "-shm"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, target + suffix)
  return target
}

/** Returns a backup that is newer than the last change, so that repeated restarts do not fill the disk. */
function recentBackup(path: string): string | undefined {
  const prefix = `${basename(path)}.malformed-backup-`
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix) && !name.endsWith("-wal") && !name.endsWith("-shm"))
    .map((name) => join(dirname(path), name))
    .find((copy) => statSync(copy).mtimeMs >= statSync(path).mtimeMs)
}

function attempt(path: string, change: (db: DatabaseSync) => void): boolean {
  try {
    withDatabase(path, { readOnly: false }, change)
  } catch (error) {
    if (!isCorrupt(error)) throw error
  }
  return checkHealth(path).healthy
}

function dropDuplicateEntries(db: DatabaseSync): void {
  withWritableCatalogue(db, () =>
    db.exec("DELETE FROM sqlite_master WHERE rowid NOT IN (SELECT min(rowid) FROM sqlite_master GROUP BY type, name)"),
  )
}

function dropSearchTables(db: DatabaseSync): void {
  // The tables, their shadow tables and their triggers all have the same prefix.
  withWritableCatalogue(db, () => db.exec("DELETE FROM sqlite_master WHERE name LIKE 'messages\\_fts%' ESCAPE '\\'"))
  db.exec("VACUUM")
}

function withWritableCatalogue(db: DatabaseSync, change: () => void): void {
  db.exec("PRAGMA writable_schema = ON")
  db.exec("BEGIN IMMEDIATE")
  try {
    change()
    const counter = Number(db.prepare("PRAGMA schema_version").get()?.["schema_version"] ?? 0)
    db.exec(`PRAGMA schema_version = ${counter + 1}`) // makes other connections read the catalogue again
    db.exec("COMMIT")
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK")
    throw error
  }
  db.exec("PRAGMA writable_schema = RESET")
}

function problemsOf(db: DatabaseSync): readonly string[] {
  db.prepare("PRAGMA journal_mode").get()
  const found = db
    .prepare("PRAGMA integrity_check(20)")
    .all()
    .map((row) => String(row["integrity_check"]))
  db.prepare("SELECT count(*) FROM sessions").get()
  return [...(found.length === 1 && found[0] === "ok" ? [] : found), ...indexProblems(db)]
}

/** Checks that every message has a row in each search table. */
function indexProblems(db: DatabaseSync): readonly string[] {
  const messages = Number(db.prepare("SELECT count(*) AS found FROM messages").get()?.["found"])
  return ["messages_fts", "messages_fts_trigram"].flatMap((table) => {
    const rows = `${table}_docsize`
    if (db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(rows) === undefined) return []
    const indexed = Number(db.prepare(`SELECT count(*) AS found FROM ${rows}`).get()?.["found"])
    return indexed === messages ? [] : [`The search table ${table} contains ${indexed} of ${messages} messages.`]
  })
}

function withDatabase<T>(path: string, options: { readonly readOnly: boolean }, work: (db: DatabaseSync) => T): T {
  // Blocking the thread is acceptable here: the user requested the repair, or nothing works without it.
  const db = new DatabaseSync(path, { timeout: 1000, readOnly: options.readOnly, defensive: false })
  try {
    return work(db)
  } finally {
    db.close()
  }
}
