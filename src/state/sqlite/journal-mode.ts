import { closeSync, openSync, readSync } from "node:fs"
import { errorMessage, isNotFound } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"
import type { StoreLog } from "../store.ts"
import type { Connection } from "./connection.ts"
import { text } from "./row-values.ts"
import { refusesWal } from "./store-failure.ts"

/** Readers and one writer at a time without waiting for each other. A file in this mode is never taken out of it. */
export async function useWriteAheadLog(connection: Connection, log: StoreLog): Promise<string> {
  try {
    // Survives a power cut, not only a crash: an acknowledged message is on the disk.
    await connection.bare((db) => db.exec("PRAGMA synchronous = FULL"))
    const present = await journalMode(connection)
    if (present === "wal") return present
    return await connection.bare((db) => text(db.get("PRAGMA journal_mode = WAL") ?? {}, "journal_mode"))
  } catch (error) {
    const cause = error instanceof StoreError ? error.cause : error
    if (!refusesWal(cause) || isWalOnDisk(connection.path)) throw error
    log.warning(
      `The file system of ${connection.path} does not support SQLite's write-ahead log (${errorMessage(cause)}); ` +
        "a slower mode is used. A Hermes home on a local disk avoids this.",
    )
    return await connection.bare((db) => text(db.get("PRAGMA journal_mode = DELETE") ?? {}, "journal_mode"))
  }
}

export function journalMode(connection: Connection): Promise<string> {
  return connection.bare((db) => text(db.get("PRAGMA journal_mode") ?? {}, "journal_mode"))
}

/** Bytes 18 and 19 of the file say which versions may write and read it; 2 means write-ahead log. */
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
