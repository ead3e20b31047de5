import { closeSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { makeDirectories } from "../../base/make-directories.ts"
import { epochSeconds } from "../../base/clock.ts"
import type { Clock } from "../../base/clock.ts"
import { errorCode } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { SessionStore, StoreFacts, StoreLog } from "../store.ts"
import { connect } from "./connection.ts"
import { journalMode, useWriteAheadLog } from "./journal-mode.ts"
import { readSchemaFacts, setUpSchema } from "./set-up.ts"
import { sqliteStore } from "./sqlite-store.ts"
import { toStoreError } from "./store-failure.ts"

export interface OpenStoreOptions {
  readonly path: string
  readonly clock: Clock
  readonly log: StoreLog
  /** No schema work and no lock; the file must exist. */
  readonly readOnly?: boolean
}

/**
 * Opens (and where needed creates, migrates or repairs) the session database. Rejects with a `StoreError` whose sentence
 * says why there is no session storage; the program runs on without it.
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
  if (!readOnly) createPrivateFile(options.path)
  const connection = connect({ path: options.path, clock: options.clock, log: options.log, readOnly })
  try {
    const journal = readOnly ? await journalMode(connection) : await useWriteAheadLog(connection, options.log)
    const schema = readOnly ? await connection.read(readSchemaFacts) : await setUpSchema(connection, options.log)
    const facts: StoreFacts = { engine: "sqlite", location: options.path, journal, ...schema }
    return sqliteStore({ connection, facts, log: options.log, now: () => epochSeconds(options.clock) })
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** SQLite's name for a database that has no file. */
const IN_MEMORY = ":memory:"

/** Conversations are private from the first byte; SQLite gives its side files the mode of the database. */
function createPrivateFile(path: string): void {
  if (path === IN_MEMORY) return
  makeDirectories(dirname(path))
  try {
    closeSync(openSync(path, "wx", 0o600))
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
  }
}

async function openRepaired(options: OpenStoreOptions, failure: StoreError): Promise<SessionStore> {
  options.log.warning(`${failure.message} Repairing it now.`)
  const { repairStore } = await import("./repair.ts")
  const outcome = repairStore(options.path, { backup: true, clock: options.clock })
  if (outcome.kind === "failed") throw new StoreError("corrupt", outcome.message, { cause: failure })
  if (outcome.kind === "repaired") {
    options.log.warning(
      `The session database was repaired; the damaged file is kept as ${outcome.backup ?? "no file"}.`,
    )
  }
  try {
    return await openOnce(options)
  } catch (error) {
    throw toStoreError(error, options.path)
  }
}
