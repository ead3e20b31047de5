import { closeSync, openSync, readSync } from "node:fs"
import { errorMessage, isNotFound } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLogger } from "../store.ts"
import type { Connection } from "./connection.ts"
import { text } from "./row-values.ts"
import { refusesWal } from "./store-failure.ts"

/** Switches to the write-ahead log, in which readers and the writer do not block each other. Never switches a database back. */
export async function useWriteAheadLog(connection: Connection, log: StoreLogger): Promise<string> {
  try {
    // FULL keeps acknowledged messages safe from a power failure, not only from a crash.
    await connection.withoutTransaction((db) => db.exec("PRAGMA synchronous = FULL"))
    const present = await journalMode(connection)
    if (present === "wal") return present
    return await connection.withoutTransaction((db) => text(db.get("PRAGMA journal_mode = WAL") ?? {}, "journal_mode"))
  } catch (error) {
    const cause = error instanceof StoreError ? error.cause : error
    if (!refusesWal(cause) || isWalOnDisk(connection.path)) throw error
    log.warning(
      `The file system of ${connection.path} does not support SQLite's write-ahead log (${errorMessage(cause)}). ` +
        "Using a slower journal mode. Move the Hermes home to a local disk to avoid this.",
    )
    return await connection.withoutTransaction((db) =>
      text(db.get("PRAGMA journal_mode = DELETE") ?? {}, "journal_mode"),
    )
  }
}

export function journalMode(connection: Connection): Promise<string> {
  return connection.withoutTransaction((db) => text(db.get("PRAGMA journal_mode") ?? {}, "journal_mode"))
}

/** Bytes 18 and 19 of a database file are its write and read versions; 2 means write-ahead log. */
function isWalOnDisk(path: string): boolean {
  try {
    const file = openSync(path, "r")
    try {
      const header = Buffer.alloc(20)
      return readSync(file, header, 0, 20, 0) === 20 && header[18] === 2 && header[19] === 2
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
