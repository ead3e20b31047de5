import { statSync } from "node:fs"
import { epochSeconds } from "../../base/clock.ts"
import type { Clock } from "../../base/clock.ts"
import type { ReportProgress } from "../../base/progress.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { SessionStore, StoreInfo, StoreLogger } from "../store.ts"
import { connect } from "./connection.ts"
import { createPrivateFile } from "./create-private-file.ts"
import { journalMode, useWriteAheadLog } from "./journal-mode.ts"
import { readSchemaInfo, setUpSchema } from "./schema-setup.ts"
import { sqliteStore } from "./sqlite-store.ts"
import { toStoreError } from "./store-failure.ts"

export interface OpenStoreOptions {
  readonly path: string
  readonly clock: Clock
  readonly log: StoreLogger
  /** Changes nothing and takes no lock. The file must exist. */
  readonly readOnly?: boolean
  /** See `SqliteConnectionOptions`. */
  readonly leavesNoFiles?: boolean
  /**
   * Receives one sentence for the user when the database was damaged and has been repaired, also long after it was opened, and when
   * opening it waits for another process.
   */
  readonly onRepair?: (notice: string) => void
  /** Receives the progress of work that a new version or a repair requires. */
  readonly progress?: ReportProgress
}

/**
 * Opens the session database. Creates or migrates it when necessary, and repairs it whenever SQLite finds damage. Rejects with a
 * `StoreError` that explains why sessions cannot be stored; the program can run without them.
 */
export async function openSqliteStore(options: OpenStoreOptions): Promise<SessionStore> {
  const readOnly = options.readOnly === true
  const sleep = (ms: number): Promise<void> => options.clock.sleep(ms, NEVER_ABORTED)
  try {
    if (!readOnly && options.path !== IN_MEMORY) createPrivateFile(options.path)
    const { path, clock, log } = options
    const onWait = (): void => options.onRepair?.(WAITING)
    const repair = readOnly ? {} : { repair: repairWith(options) }
    const { leavesNoFiles = false } = options
    const connection = connect({ path, clock, log, readOnly, leavesNoFiles, onWait, ...repair })
    try {
      const mode = readOnly ? await journalMode(connection) : await useWriteAheadLog(connection, log)
      const { progress } = options
      const schema = readOnly
        ? await connection.read(readSchemaInfo)
        : await setUpSchema(connection, { log, pause: sleep, ...(progress !== undefined && { progress }) })
      const info: StoreInfo = { engine: "sqlite", location: path, journalMode: mode, ...schema }
      return sqliteStore({
        connection,
        info,
        log,
        now: () => epochSeconds(clock),
        sleep,
      })
    } catch (error) {
      await connection.close()
      throw error
    }
  } catch (error) {
    throw toStoreError(error, options.path)
  }
}

const WAITING = "Another process is compacting the session database. Hermes waits until it is done."

const REPAIRING = "The session database is damaged. Hermes saves what can be read of it, which can take minutes."

/** A smaller database is repaired within a few seconds. */
const LARGE_BYTES = 64 * 1024 * 1024

const NEVER_ABORTED = { signal: new AbortController().signal }

/** SQLite's name for a database without a file. */
const IN_MEMORY = ":memory:"

function repairWith({ path, clock, log, onRepair, progress }: OpenStoreOptions) {
  return async (error: unknown, attempt: number): Promise<void> => {
    log.warning(`The session database ${path} is damaged (${errorMessage(error)}). Repairing it.`)
    if (statSync(path).size > LARGE_BYTES) onRepair?.(REPAIRING)
    const { repairStore } = await import("./repair.ts")
    const outcome = await repairStore(path, {
      backup: true,
      clock,
      log,
      force: attempt > 1,
      ...(progress !== undefined && { progress }),
    })
    if (outcome.kind === "failed") throw outcome.failure
    if (outcome.kind === "healthy") return
    log.warning(outcome.notice)
    onRepair?.(outcome.notice)
  }
}
