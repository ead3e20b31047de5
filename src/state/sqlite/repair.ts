import { copyFileSync, existsSync, linkSync, readdirSync, renameSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Clock } from "../../base/clock.ts"
import { counted } from "../../base/counted.ts"
import { surplusCopies, unusedPath } from "../../base/kept-copies.ts"
import { withFileLock } from "../../base/file-lock.ts"
import type { ReportProgress } from "../../base/progress.ts"
import { errorCode } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLogger } from "../store.ts"
import { connect } from "./connection.ts"
import { createPrivateFile } from "./create-private-file.ts"
import { findProblems } from "./health.ts"
import { openDatabasePages } from "./file-format/database-pages.ts"
import type { DatabasePages } from "./file-format/database-pages.ts"
import { useWriteAheadLog } from "./journal-mode.ts"
import { salvage } from "./salvage.ts"
import type { SalvagedMessages } from "./salvage.ts"
import { setUpSchema } from "./schema-setup.ts"
import { isUnreadable, toStoreError } from "./store-failure.ts"

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
  readonly progress?: ReportProgress
}

/**
 * Repairs a damaged database. Duplicate catalogue entries are deleted in place. For any other damage, every row that SQLite can still
 * read is copied into a new file, and so are rows that are only left on pages which SQLite cannot reach. The new file replaces the
 * damaged one, which keeps its contents under another name.
 */
export async function repairStore(path: string, options: RepairOptions): Promise<RepairOutcome> {
  let isKnownDamage = options.force === true
  try {
    return await withFileLock(`${path}.repair.lock`, { waitMs: LOCK_WAIT_MS }, async () => {
      // Another process may have repaired the file while this one waited.
      if (options.force !== true && !(await isDamaged(path, options))) return { kind: "healthy" }
      isKnownDamage = true
      const repaired = options.force === true ? undefined : await repairCatalogue(path, options)
      return repaired ?? (await replaceDamaged(path, options))
    })
  } catch (error) {
    // A full disk prevents the check too.
    return { kind: "failed", failure: isKnownDamage ? unrepaired(path, error) : toStoreError(error, path) }
  }
}

async function isDamaged(path: string, { progress }: RepairOptions): Promise<boolean> {
  return (await findProblems(path, { limit: 1, ...(progress !== undefined && { progress }) })).length > 0
}

/** Copying a large database takes that long. */
const LOCK_WAIT_MS = 1_800_000

/** Returns undefined when the catalogue has no duplicate entries, or is not the only damage. */
async function repairCatalogue(path: string, options: RepairOptions): Promise<RepairOutcome | undefined> {
  if (!hasDuplicateEntries(path)) return undefined
  const copy = copyDamaged(path, options.clock)
  try {
    withDatabase(path, { readOnly: false }, dropDuplicateEntries)
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  if (!(await isDamaged(path, options))) {
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
  let pages: DatabasePages | undefined
  try {
    pages = openDatabasePages(path)
    removeDatabase(fresh)
    createPrivateFile(fresh)
    options.progress?.({ step: "saving what can be read of the session database" })
    const messages = salvage(path, fresh, pages)
    options.progress?.(undefined)
    if (messages === undefined) removeDatabase(fresh)
    await setUp(fresh, options)
    const complete = messages !== undefined && messages.total !== undefined && messages.saved === messages.total
    const damagedFile = exchange(path, fresh, options.clock)
    if (complete && !options.backup) removeDatabase(damagedFile)
    const kept = complete && !options.backup ? undefined : damagedFile
    return { kind: "repaired", notice: noticeOf(path, messages, kept), damagedFile: kept }
  } finally {
    lock?.close()
    pages?.close() // after the lock, which this would give up
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
async function setUp(path: string, { clock, log, progress }: RepairOptions): Promise<void> {
  createPrivateFile(path)
  const connection = connect({ path, clock, log, readOnly: false })
  try {
    await useWriteAheadLog(connection, log)
    // No other process uses the new file yet.
    const pause = (): Promise<void> => Promise.resolve()
    await setUpSchema(connection, { log, pause, ...(progress !== undefined && { progress }) })
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
  removeSurplusCopies(path)
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
  return unusedPath(name)
}

/** A damaged disk may damage the database again and again. */
function removeSurplusCopies(path: string): void {
  const prefix = `${basename(path)}.malformed-backup-`
  const copies = readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix) && /^[\d_]+(-\d+)?$/.test(name.slice(prefix.length)))
    .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }))
  for (const name of surplusCopies(copies)) removeDatabase(join(dirname(path), name))
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

function withDatabase<T>(path: string, options: { readonly readOnly: boolean }, work: (db: DatabaseSync) => T): T {
  // Blocking the thread is acceptable here: the user requested the repair, or nothing works without it.
  const db = new DatabaseSync(path, { timeout: 1000, readOnly: options.readOnly, defensive: false })
  try {
    return work(db)
  } finally {
    db.close()
  }
}
