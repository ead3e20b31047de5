import { statSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { SQLInputValue, StatementSync } from "node:sqlite"
import { setImmediate } from "node:timers"
import { pathToFileURL } from "node:url"
import type { Clock } from "../../base/clock.ts"
import { diskProblem } from "../../base/disk-problem.ts"
import { errorMessage } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLogger } from "../store.ts"
import { isMaintained } from "./maintenance-lock.ts"
import type { Row } from "./row-values.ts"
import { isDamage, isLocked, toStoreError } from "./store-failure.ts"

/** Runs statements against an open database. Valid only inside the callback that receives it. */
export interface Database {
  all(sql: string, ...parameters: readonly SQLInputValue[]): readonly Row[]
  get(sql: string, ...parameters: readonly SQLInputValue[]): Row | undefined
  /** Reads rows one at a time. */
  iterate(sql: string, ...parameters: readonly SQLInputValue[]): Iterable<Row>
  run(sql: string, ...parameters: readonly SQLInputValue[]): { readonly changes: number; readonly rowId: number }
  exec(sql: string): void
}

/**
 * The connection of a process to its database. Callbacks are synchronous, so that two transactions of a process never interleave. A
 * lock held by another process never blocks the thread: see `retryWhileLocked`.
 */
export interface Connection {
  readonly path: string
  /** Runs `work` on one consistent snapshot. */
  readonly read: <T>(work: (db: Database) => T) => Promise<T>
  /**
   * Runs `work` in a transaction and resolves when it is on disk. Writes run in the order of the calls; those of the same moment share a
   * transaction, and one that fails undoes only itself.
   */
  readonly write: <T>(work: (db: Database) => T) => Promise<T>
  /** Runs `work` after earlier writes, for VACUUM, checkpoints and pragmas. */
  readonly withoutTransaction: <T>(work: (db: Database) => T) => Promise<T>
  /** Closes the file while `work` runs, after earlier writes. Other operations wait. */
  readonly whileClosed: <T>(work: () => Promise<T>) => Promise<T>
  readonly close: () => Promise<void>
}

export interface SqliteConnectionOptions {
  readonly path: string
  readonly clock: Clock
  readonly log: StoreLogger
  readonly readOnly: boolean
  /**
   * For a short look that must not create the files which readers share. If another process begins to write meanwhile, what is read may be
   * inconsistent.
   */
  readonly leavesNoFiles?: boolean
  /**
   * Repairs the damaged file while this connection is closed; the operation that found the damage then runs again. `attempt` is 2 if it
   * has found damage again. Rejects with a `StoreError` when the file cannot be repaired.
   */
  readonly repair?: (error: unknown, attempt: number) => Promise<void>
  /** Called once when an operation waits for another process that rewrites the file. */
  readonly onWait?: () => void
}

/** How long one attempt polls for the lock. The Python edition lets SQLite block for the same time. */
const ATTEMPT_MS = 1000
const ATTEMPTS = 15
/** Rewriting a database of several gigabytes takes minutes. */
const MAINTENANCE_ATTEMPTS = 1200
const POLL_MS = { min: 1, max: 25 }
const PAUSE_MS = { min: 20, max: 150 }

const WRITES_PER_CHECKPOINT = 50

export function connect(options: SqliteConnectionOptions): Connection {
  const closing = new AbortController()
  const waiting = { clock: options.clock, signal: closing.signal, path: options.path, onWait: options.onWait }
  let file = openFile(options)
  let repairing: Promise<void> | undefined
  let unrepairable: unknown
  let tail: Promise<unknown> = Promise.resolve()
  let writes = 0
  let checkpointed = 0
  let collecting: QueuedWrite[] | undefined

  /** A process that repairs a damaged database replaces the file, and an import does so too. */
  const followFile = (): void => {
    if (isCurrent(file, options.path)) return
    file.raw.close()
    file = openFile(options)
  }
  const runUnlocked = async <T>(work: (open: OpenFile) => T): Promise<T> => {
    for (let attempt = 1; ; attempt += 1) {
      if (repairing !== undefined) await repairing
      if (!file.raw.isOpen) throw new StoreError("unavailable", "The session database is closed.")
      const used = file
      try {
        return await retryWhileLocked(() => {
          if (!file.raw.isOpen) throw new ReplacedFileError()
          followFile()
          return work(file)
        }, waiting)
      } catch (error) {
        if (!isDamage(error) || options.repair === undefined || attempt > MAX_REPAIRS) {
          throw toStoreError(error, options.path)
        }
        if (unrepairable !== undefined) throw toStoreError(unrepairable, options.path)
        // Another operation may have found the same damage and had it repaired.
        if (file === used) await (repairing ??= repair(options.repair, error, attempt))
      }
    }
  }
  const repair = async (run: NonNullable<typeof options.repair>, error: unknown, attempt: number): Promise<void> => {
    file.raw.close()
    try {
      await run(error, attempt)
    } catch (failure) {
      unrepairable = failure
      throw failure
    } finally {
      file = openFile(options)
      repairing = undefined
    }
  }
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const result = tail.then(work)
    tail = result.catch(() => undefined) // the caller handles the rejection; later writes still run
    return result
  }

  /** Later writes come after `work`. */
  const afterWrites = <T>(work: () => Promise<T>): Promise<T> => {
    collecting = undefined
    return inOrder(work)
  }
  const writeAll = async (batch: readonly QueuedWrite[]): Promise<void> => {
    try {
      const settled = await runUnlocked((used) =>
        transaction(used.raw, "BEGIN IMMEDIATE", () => {
          // No process replaces the file while this transaction holds the lock. If it happened before, the transaction runs again.
          if (!isCurrent(used, options.path)) throw new ReplacedFileError()
          return batch.map((write) => (batch.length === 1 ? write.run(used) : runSeparately(write, used, options.path)))
        }),
      )
      for (const settle of settled) settle()
      writes += batch.length
      if (writes - checkpointed >= WRITES_PER_CHECKPOINT) {
        checkpointed = writes
        checkpoint(file.db, options)
      }
    } catch (error) {
      for (const write of batch) write.reject(error)
    }
  }

  return {
    path: options.path,
    read: (work) => runUnlocked(({ raw, db }) => transaction(raw, "BEGIN", () => work(db))),
    write: <T>(work: (db: Database) => T) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      // Whoever writes in the same moment shares a transaction, because the disk takes as long for one as for all.
      if (collecting === undefined) {
        const batch: QueuedWrite[] = []
        collecting = batch
        // It never rejects: a failure reaches each writer.
        inOrder(async () => {
          await pendingEvents()
          if (collecting === batch) collecting = undefined
          await writeAll(batch)
        }).catch(() => undefined)
      }
      collecting.push({
        run: (used) => {
          const result = work(used.db)
          return () => {
            resolve(result)
          }
        },
        reject,
      })
      return promise
    },
    withoutTransaction: (work) => afterWrites(() => runUnlocked(({ db }) => work(db))),
    whileClosed: (work) =>
      afterWrites(async () => {
        if (repairing !== undefined) await repairing
        file.raw.close()
        const reopened = Promise.withResolvers<void>()
        repairing = reopened.promise
        try {
          return await work()
        } finally {
          file = openFile(options)
          repairing = undefined
          reopened.resolve()
        }
      }),
    close: () =>
      afterWrites(async () => {
        if (repairing !== undefined) await repairing.catch(() => undefined)
        if (!file.raw.isOpen) return
        closing.abort(new StoreError("unavailable", "The session database is closed."))
        if (!options.readOnly && isCurrent(file, options.path)) truncateWriteAheadLog(file.db, options.log)
        file.raw.close()
      }),
  }
}

interface QueuedWrite {
  /** Returns what tells the caller, which must wait for the end of the transaction. */
  run(used: OpenFile): () => void
  reject(error: unknown): void
}

/** Undoes only what this write did if it fails; an error that concerns the file ends the whole transaction. */
function runSeparately(write: QueuedWrite, used: OpenFile, path: string): () => void {
  used.raw.exec("SAVEPOINT one_write")
  try {
    const settle = write.run(used)
    used.raw.exec("RELEASE one_write")
    return settle
  } catch (error) {
    if (!used.raw.isTransaction || isLocked(error) || isDamage(error) || error instanceof ReplacedFileError) throw error
    used.raw.exec("ROLLBACK TO one_write; RELEASE one_write")
    return () => {
      write.reject(toStoreError(error, path))
    }
  }
}

/** Resolves when the events that have arrived already are handled. */
function pendingEvents(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(resolve)
  return promise
}

/** One repair, and another that trusts no check. */
const MAX_REPAIRS = 2

interface OpenFile {
  readonly raw: DatabaseSync
  readonly db: Database
  /** Differs between files that had the same path one after the other. Undefined for a database in memory. */
  readonly identity: string | undefined
}

/** The file was replaced after it was opened. */
class ReplacedFileError extends Error {
  override readonly name = "ReplacedFileError"
}

function openFile({ path, readOnly, leavesNoFiles = false }: SqliteConnectionOptions): OpenFile {
  for (;;) {
    const identity = identityOf(path)
    // With `timeout: 0` SQLite returns "busy" at once. Its own waiting would block this thread and the user interface.
    const raw = new DatabaseSync(
      readOnly && ((leavesNoFiles && isUnused(path)) || isFrozen(path)) ? immutable(path) : path,
      { timeout: 0, readOnly },
    )
    if (identity === identityOf(path)) return { raw, db: statementCache(raw), identity }
    raw.close()
  }
}

/**
 * On a full disk and on a read-only file system SQLite cannot create the file that readers share, but no other process can write either. Not with
 * a write-ahead log, which would be ignored.
 */
function isFrozen(path: string): boolean {
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return false
  return diskProblem(dirname(path)) !== undefined
}

/** Without the file of a write-ahead log no process has the database open. */
function isUnused(path: string): boolean {
  return statSync(`${path}-wal`, { throwIfNoEntry: false }) === undefined
}

function immutable(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set("immutable", "1")
  return url
}

function isCurrent({ identity }: OpenFile, path: string): boolean {
  return identity === undefined || identity === (identityOf(path) ?? identity)
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true })
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`
}

/** Moves the write-ahead log into the database and truncates it. A reader in another process may prevent that, which is harmless. */
export function truncateWriteAheadLog(db: Database, log: StoreLogger): void {
  try {
    db.get("PRAGMA wal_checkpoint(TRUNCATE)")
  } catch (error) {
    log.debug(`The write-ahead log was not truncated: ${errorMessage(error)}`)
  }
}

interface Waiting {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly path: string
  readonly onWait: (() => void) | undefined
}

/**
 * Retries `work` while another connection holds the lock, without blocking the thread. Waits as long as the Python edition does (15
 * attempts of one second, 20–150 ms apart), because its writers may hold the lock that long. Random pauses keep processes from
 * colliding again and again.
 */
async function retryWhileLocked<T>(work: () => T, { clock, signal, path, onWait }: Waiting): Promise<T> {
  let attempts = 1
  let waited = 0
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error) && !(error instanceof ReplacedFileError)) throw error
      if (waited >= ATTEMPT_MS) {
        const maintained = isMaintained(path)
        if (maintained && attempts === 1) onWait?.()
        if (attempts >= (maintained ? MAINTENANCE_ATTEMPTS : ATTEMPTS)) throw error
        attempts += 1
        waited = 0
        await clock.sleep(randomBetween(PAUSE_MS), { signal })
        continue
      }
    }
    const pause = randomBetween(POLL_MS)
    await clock.sleep(pause, { signal })
    waited += pause
  }
}

function transaction<T>(raw: DatabaseSync, begin: string, work: () => T): T {
  raw.exec(begin)
  try {
    const result = work()
    raw.exec("COMMIT")
    return result
  } catch (error) {
    // Some errors, such as a full disk, have already rolled back.
    if (raw.isTransaction) raw.exec("ROLLBACK")
    throw error
  }
}

/** A PASSIVE checkpoint never waits for readers. Truncating needs a moment without readers, so it happens only past the limit. */
function checkpoint(db: Database, options: SqliteConnectionOptions): void {
  try {
    const row = db.get("PRAGMA wal_checkpoint(PASSIVE)")
    const pages = Number(row?.["log"] ?? 0)
    const pageSize = Number(db.get("PRAGMA page_size")?.["page_size"] ?? 4096)
    if (pages * pageSize > WAL_LIMIT_BYTES) truncateWriteAheadLog(db, options.log)
  } catch (error) {
    options.log.debug(`A checkpoint was skipped: ${errorMessage(error)}`)
  }
}

const WAL_LIMIT_BYTES = 16 * 1024 * 1024

/** Preparing a statement takes longer than running most of them. SQLite prepares them again after a schema change. */
function statementCache(raw: DatabaseSync): Database {
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const cached = statements.get(sql)
    if (cached !== undefined) return cached
    const statement = raw.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return {
    all: (sql, ...parameters) => prepared(sql).all(...parameters),
    get: (sql, ...parameters) => prepared(sql).get(...parameters),
    // Not cached: using the same statement again would reset an open iterator.
    iterate: (sql, ...parameters) => raw.prepare(sql).iterate(...parameters),
    run: (sql, ...parameters) => {
      const result = prepared(sql).run(...parameters)
      return { changes: Number(result.changes), rowId: Number(result.lastInsertRowid) }
    },
    exec: (sql) => raw.exec(sql),
  }
}

function randomBetween(range: { readonly min: number; readonly max: number }): number {
  return range.min + Math.random() * (range.max - range.min)
}
