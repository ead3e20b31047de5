import { closeSync, openSync, rmSync } from "node:fs"
import { backup, DatabaseSync } from "node:sqlite"
import { toStoreError } from "./store-failure.ts"

/**
 * Copies a consistent snapshot of a database while other processes may write to it. Copying the file would miss the contents of the
 * write-ahead log. Rejects with a `StoreError` and then removes `to`.
 */
export async function backupDatabase(from: string, to: string): Promise<void> {
  try {
    // The backup copies pages between the writes of other processes, so it may have to wait for a lock.
    const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 })
    try {
      closeSync(openSync(to, "w", 0o600)) // readable only by the owner from the start
      await backup(source, to)
    } finally {
      source.close()
    }
  } catch (error) {
    rmSync(to, { force: true })
    throw toStoreError(error, from)
  }
}
