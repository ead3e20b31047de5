import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from "node:fs"
import { basename } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Clock } from "../../base/clock.ts"
import { counted } from "../../base/counted.ts"
import { withFileLock } from "../../base/file-lock.ts"
import { errorCode, errorMessage } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLogger } from "../store.ts"
import { connect } from "./connection.ts"
import { createPrivateFile } from "./create-private-file.ts"
import { useWriteAheadLog } from "./journal-mode.ts"
import { salvage } from "./salvage.ts"
import type { SalvagedMessages } from "./salvage.ts"
import { setUpSchema } from "./schema-setup.ts"
import { isStatementError, isUnreadable, toStoreError } from "./store-failure.ts"

export type Health = { readonly healthy: true } | { readonly healthy: false; readonly problems: readonly string[] }

export type RepairOutcome =
  | { readonly kind: "healthy" }
  /** `notice` tells the user in one sentence what was kept. */
  | { readonly kind: "repaired"; readonly notice: string; readonly damagedFile: string | undefined }
  | { readonly kind: "failed"; readonly failure: StoreError }

export interface RepairOptions {
  /** False removes the damaged file if nothing of it was lost. */
  readonly backup: boolean
  readonly clock: Clock
  readonly log: StoreLogger
  /** SQLite found damage that the check does not find, so the check is not asked. */
  readonly force?: boolean
}

export function checkHealth(path: string): Health {
  if (!existsSync(path)) return { healthy: false, problems: [`There is no session database at ${path}.`] }
  try {
    const problems = findProblems(path)
    return problems.length === 0 ? { healthy: true } : { healthy: false, problems }
  } catch (error) {
    return { healthy: false, problems: [errorMessage(error)] }
  }
}

/** Throws when the database cannot be checked, for example because it is locked. That is no damage. */
function findProblems(path: string): readonly string[] {
  try {
    return withDatabase(path, { readOnly: true }, problemsOf)
  } catch (error) {
    if (!isUnreadable(error) && !isStatementError(error)) throw error
    return [errorMessage(error)]
  }
}

/**
 * Repairs a damaged database. Duplicate catalogue entries are deleted in place. For any other damage, every row that SQLite can still
 * read is copied into a new file, which replaces the damaged one. The damaged file keeps its contents under another name.
 */
export async function repairStore(path: string, options: RepairOptions): Promise<RepairOutcome> {
  try {
    return await withFileLock(`${path}.repair.lock`, { waitMs: LOCK_WAIT_MS }, async () => {
      // Another process may have repaired the file while this one waited.
      if (options.force !== true && findProblems(path).length === 0) return { kind: "healthy" }
      return (
        (options.force === true ? undefined : repairCatalogue(path, options)) ?? (await replaceDamaged(path, options))
      )
    })
  } catch (error) {
    return { kind: "failed", failure: unrepaired(path, error) }
  }
}

/** Copying a large database takes that long. */
const LOCK_WAIT_MS = 300_000

/** Returns undefined when the catalogue has no duplicate entries, or is not the only damage. */
function repairCatalogue(path: string, options: RepairOptions): RepairOutcome | undefined {
  if (!hasDuplicateEntries(path)) return undefined
  const copy = copyDamaged(path, options.clock)
  try {
    withDatabase(path, { readOnly: false }, dropDuplicateEntries)
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  if (findProblems(path).length === 0) {
    if (!options.backup) removeDatabase(copy)
    const kept = options.backup ? ` and kept the damaged file as ${copy}` : ""
    const notice = `The session database was damaged: Hermes repaired it without losing anything${kept}.`
    return { kind: "repaired", notice, damagedFile: options.backup ? copy : undefined }
  }
  removeDatabase(copy)
  return undefined
}

function hasDuplicateEntries(path: string): boolean {
  try {
    return withDatabase(path, { readOnly: true }, (db) => {
      db.exec("PRAGMA writable_schema = ON")
      return db.prepare("SELECT 1 FROM sqlite_master GROUP BY type, name HAVING count(*) > 1").get() !== undefined
    })
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return false
  }
}

async function replaceDamaged(path: string, options: RepairOptions): Promise<RepairOutcome> {
  const lock = lockForWriting(path)
  const fresh = `${path}.salvage`
  try {
    removeDatabase(fresh)
    createPrivateFile(fresh)
    const messages = salvage(path, fresh)
    if (messages === undefined) removeDatabase(fresh)
    await setUp(fresh, options)
    const complete = messages !== undefined && messages.total !== undefined && messages.saved === messages.total
    const damagedFile = exchange(path, fresh, options.clock)
    if (complete && !options.backup) removeDatabase(damagedFile)
    const kept = complete && !options.backup ? undefined : damagedFile
    return { kind: "repaired", notice: noticeOf(path, messages, kept), damagedFile: kept }
  } finally {
    lock?.close()
    removeDatabase(fresh)
  }
}

/**
 * Keeps other processes from writing to the damaged file until it has been replaced. They notice the replacement when they get the lock
 * (connection.ts). Undefined when the file is damaged so much that no process can write to it.
 */
function lockForWriting(path: string): DatabaseSync | undefined {
  const db = new DatabaseSync(path, { timeout: 5000, defensive: false })
  try {
    db.exec("PRAGMA writable_schema = ON")
    db.exec("BEGIN IMMEDIATE")
    return db
  } catch (error) {
    db.close()
    if (!isUnreadable(error)) throw error
    return undefined
  }
}

/** Makes the new file complete before it gets its name: other processes may open it at once. */
async function setUp(path: string, { clock, log }: RepairOptions): Promise<void> {
  createPrivateFile(path)
  const connection = connect({ path, clock, log, readOnly: false })
  try {
    await useWriteAheadLog(connection, log)
    await setUpSchema(connection, log)
  } finally {
    await connection.close()
  }
}

/** Replaces the damaged file with the new one and returns the new name of the damaged one. */
function exchange(path: string, fresh: string, clock: Clock): string {
  const target = unusedName(path, clock)
  try {
    for (const suffix of ["", "-wal"]) keepAs(path + suffix, target + suffix)
  } catch (error) {
    removeDatabase(target)
    throw error
  }
  // SQLite would apply a write-ahead log that it finds next to the new file.
  for (const suffix of ["-wal", "-shm", "-journal"]) rmSync(path + suffix, { force: true })
  renameSync(fresh, path)
  return target
}

/** A second name for the file costs no space. File systems without links get a copy. */
function keepAs(path: string, target: string): void {
  if (!existsSync(path)) return
  try {
    linkSync(path, target)
  } catch (error) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EXDEV"].includes(errorCode(error) ?? "")) throw error
    copyFileSync(path, target)
  }
}

function copyDamaged(path: string, clock: Clock): string {
  const target = unusedName(path, clock)
  try {
    for (const suffix of ["", "-wal"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, target + suffix)
  } catch (error) {
    removeDatabase(target)
    throw error
  }
  return target
}

function unusedName(path: string, clock: Clock): string {
  const stamp = new Date(clock.now()).toISOString().replace(/[-:]/g, "").replace(/\..*$/, "").replace("T", "_")
  const name = `${path}.malformed-backup-${stamp}`
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}-${number}`
    if (!existsSync(candidate)) return candidate
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(path + suffix, { force: true })
}

function noticeOf(path: string, messages: SalvagedMessages | undefined, damagedFile: string | undefined): string {
  const kept = damagedFile === undefined ? "" : ` and kept the damaged file as ${damagedFile}`
  if (messages === undefined) {
    return `${basename(path)} was not a session database, or nothing in it could be read: Hermes started a new one${kept}.`
  }
  const { saved, total } = messages
  const what = total === undefined ? counted(saved, "message") : `${saved} of ${counted(total, "message")}`
  return `The session database was damaged: Hermes saved ${what} in a new one${kept}.`
}

function unrepaired(path: string, error: unknown): StoreError {
  const failure = toStoreError(error, path)
  const text = `The session database ${path} is damaged and was not repaired; the file is unchanged. ${failure.message}`
  return new StoreError(failure.kind === "unavailable" ? "corrupt" : failure.kind, text, { cause: error })
}

function dropDuplicateEntries(db: DatabaseSync): void {
  withWritableCatalogue(db, () =>
    db.exec("DELETE FROM sqlite_master WHERE rowid NOT IN (SELECT min(rowid) FROM sqlite_master GROUP BY type, name)"),
  )
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

function withDatabase<T>(path: string, options: { readonly readOnly: boolean }, work: (db: DatabaseSync) => T): T {
  // Blocking the thread is acceptable here: the user requested the repair, or nothing works without it.
  const db = new DatabaseSync(path, { timeout: 1000, readOnly: options.readOnly, defensive: false })
  try {
    return work(db)
  } finally {
    db.close()
  }
}
