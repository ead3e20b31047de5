import { DatabaseSync } from "node:sqlite"
import type { SQLInputValue, StatementSync } from "node:sqlite"
import type { Clock } from "../../base/clock.ts"
import { errorMessage } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLog } from "../store.ts"
import type { Row } from "./row-values.ts"
import { isLocked, toStoreError } from "./store-failure.ts"

/** Statements against an open database; only valid inside the function that received it. */
export interface Database {
  all(sql: string, ...parameters: readonly SQLInputValue[]): readonly Row[]
  get(sql: string, ...parameters: readonly SQLInputValue[]): Row | undefined
  /** Rows one at a time; stop by leaving the loop. */
  iterate(sql: string, ...parameters: readonly SQLInputValue[]): Iterable<Row>
  run(sql: string, ...parameters: readonly SQLInputValue[]): { readonly changes: number; readonly rowId: number }
  exec(sql: string): void
}

/**
 * One process's way to the file. Work is synchronous and runs inside one tick, so two transactions of a process never
 * interleave. A lock held elsewhere never blocks the thread: see `untilUnlocked`.
 */
export interface Connection {
  readonly path: string
  /** One consistent snapshot. */
  readonly read: <T>(work: (db: Database) => T) => Promise<T>
  /** One transaction, in the order of the calls: everything `work` did, or nothing. */
  readonly write: <T>(work: (db: Database) => T) => Promise<T>
  /** Without a transaction, behind earlier writes: for VACUUM, checkpoints and pragmas. */
  readonly bare: <T>(work: (db: Database) => T) => Promise<T>
  readonly close: () => Promise<void>
}

export interface ConnectionOptions {
  readonly path: string
  readonly clock: Clock
  readonly log: StoreLog
  readonly readOnly: boolean
}

/** A lock is polled this long before an attempt counts as failed; the Python edition lets SQLite block for that long. */
const ATTEMPT_MS = 1000
const ATTEMPTS = 15
const POLL_MS = { min: 1, max: 25 }
const PAUSE_MS = { min: 20, max: 150 }

const WRITES_PER_CHECKPOINT = 50

export function connect(options: ConnectionOptions): Connection {
  // `timeout: 0`: SQLite returns "busy" at once. Its own waiting would block this thread, and with it the user interface.
  const raw = new DatabaseSync(options.path, { timeout: 0, readOnly: options.readOnly })
  const db = statementCache(raw)
  const closing = new AbortController()
  const patience = { clock: options.clock, signal: closing.signal }
  let tail: Promise<unknown> = Promise.resolve()
  let writes = 0

  const attempt = async <T>(work: () => T): Promise<T> => {
    if (!raw.isOpen) throw new StoreError("unavailable", "The session database was closed.")
    try {
      return await untilUnlocked(work, patience)
    } catch (error) {
      throw toStoreError(error, options.path)
    }
  }
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const result = tail.then(work)
    tail = result.catch(() => undefined) // the caller of `result` sees the failure; later writes go on
    return result
  }

  return {
    path: options.path,
    read: (work) => attempt(() => transaction(raw, "BEGIN", () => work(db))),
    write: (work) =>
      inOrder(async () => {
        const result = await attempt(() => transaction(raw, "BEGIN IMMEDIATE", () => work(db)))
        writes += 1
        if (writes % WRITES_PER_CHECKPOINT === 0) checkpoint(db, options)
        return result
      }),
    bare: (work) => inOrder(() => attempt(() => work(db))),
    close: () =>
      inOrder(async () => {
        if (!raw.isOpen) return
        closing.abort(new StoreError("unavailable", "The session database was closed."))
        if (!options.readOnly) truncateLog(db, options.log)
        raw.close()
      }),
  }
}

/** Copies the write-ahead log into the database and empties it; a reader elsewhere may prevent that, which is no fault. */
export function truncateLog(db: Database, log: StoreLog): void {
  try {
    db.get("PRAGMA wal_checkpoint(TRUNCATE)")
  } catch (error) {
    log.debug(`The write-ahead log was not emptied: ${errorMessage(error)}`)
  }
}

/**
 * Repeats `work` while another connection holds the lock. The waiting is asynchronous; its length is that of the Python
 * edition (15 attempts of one second each with 20–150 ms between them), because that is how long its writers may hold on.
 * Pauses are random so that processes which collided once do not collide again in step.
 */
async function untilUnlocked<T>(
  work: () => T,
  patience: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> {
  const { clock, signal } = patience
  let attempts = 1
  let waited = 0
  for (;;) {
    try {
      return work()
    } catch (error) {
      if (!isLocked(error)) throw error
      if (waited >= ATTEMPT_MS) {
        if (attempts === ATTEMPTS) throw error
        attempts += 1
        waited = 0
        await clock.sleep(between(PAUSE_MS), { signal })
        continue
      }
    }
    const pause = between(POLL_MS)
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
    // Some failures (disk full) have already rolled back.
    if (raw.isTransaction) raw.exec("ROLLBACK")
    throw error
  }
}

/** PASSIVE never waits for readers. A log that grew past the limit is emptied, which needs a moment without readers. */
function checkpoint(db: Database, options: ConnectionOptions): void {
  try {
    const row = db.get("PRAGMA wal_checkpoint(PASSIVE)")
    const pages = Number(row?.["log"] ?? 0)
    const pageSize = Number(db.get("PRAGMA page_size")?.["page_size"] ?? 4096)
    if (pages * pageSize > WAL_LIMIT_BYTES) truncateLog(db, options.log)
  } catch (error) {
    options.log.debug(`A checkpoint was skipped: ${errorMessage(error)}`)
  }
}

const WAL_LIMIT_BYTES = 16 * 1024 * 1024

/** Preparing costs more than most of our statements; SQLite re-prepares them by itself after a schema change. */
function statementCache(raw: DatabaseSync): Database {
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = raw.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
  return {
    all: (sql, ...parameters) => prepared(sql).all(...parameters),
    get: (sql, ...parameters) => prepared(sql).get(...parameters),
    // Not cached: an iterator that is still open must not be reset by a second use of the same text.
    iterate: (sql, ...parameters) => raw.prepare(sql).iterate(...parameters),
    run: (sql, ...parameters) => {
      const result = prepared(sql).run(...parameters)
      return { changes: Number(result.changes), rowId: Number(result.lastInsertRowid) }
    },
    exec: (sql) => raw.exec(sql),
  }
}

function between(range: { readonly min: number; readonly max: number }): number {
  return range.min + Math.random() * (range.max - range.min)
}
