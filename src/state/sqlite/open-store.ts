import { epochSeconds } from "../../base/clock.ts"
import type { Clock } from "../../base/clock.ts"
import { StoreError } from "../store.ts"
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
}

/**
 * Opens the session database. Creates, migrates or repairs it when necessary. Rejects with a `StoreError` that explains why sessions
 * cannot be stored; the program can run without them.
 */
export async function openSqliteStore(options: OpenStoreOptions): Promise<SessionStore> {
  try {
    return await openOnce(options)
  } catch (error) {
    const failure = toStoreError(error, options.path)
    if (failure.kind !== "corrupt" || options.readOnly === true) throw failure
    return await openRepaired(options, failure)
  }
}

async function openOnce(options: OpenStoreOptions): Promise<SessionStore> {
  const readOnly = options.readOnly === true
  if (!readOnly && options.path !== IN_MEMORY) createPrivateFile(options.path)
  const connection = connect({ path: options.path, clock: options.clock, log: options.log, readOnly })
  try {
    const mode = readOnly ? await journalMode(connection) : await useWriteAheadLog(connection, options.log)
    const schema = readOnly ? await connection.read(readSchemaInfo) : await setUpSchema(connection, options.log)
    const info: StoreInfo = { engine: "sqlite", location: options.path, journalMode: mode, ...schema }
    return sqliteStore({ connection, info, log: options.log, now: () => epochSeconds(options.clock) })
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** SQLite's name for a database without a file. */
const IN_MEMORY = ":memory:"

async function openRepaired(options: OpenStoreOptions, failure: StoreError): Promise<SessionStore> {
  options.log.warning(`${failure.message} Repairing it.`)
  const { repairStore } = await import("./repair.ts")
  const outcome = repairStore(options.path, { backup: true, clock: options.clock })
  if (outcome.kind === "failed") throw new StoreError("corrupt", outcome.message, { cause: failure })
  if (outcome.kind === "repaired") {
    options.log.warning(
      `The session database was repaired. The damaged file was saved as ${outcome.backup ?? "no file"}.`,
    )
  }
  try {
    return await openOnce(options)
  } catch (error) {
    throw toStoreError(error, options.path)
  }
}
