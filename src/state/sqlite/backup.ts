import { closeSync, openSync, rmSync } from "node:fs"
import { backup, DatabaseSync } from "node:sqlite"
import { toStoreError } from "./store-failure.ts"

/**
 * Copies a database that others may be writing to, as of one moment: copying the file alone would miss what is still in its
 * write-ahead log. Rejects with a `StoreError`; then `to` is gone.
 */
export async function backupDatabase(from: string, to: string): Promise<void> {
  try {
    // The copy is made page by page between other processes' writes, so waiting a moment for one of them is right.
    const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 })
    try {
      closeSync(openSync(to, "w", 0o600)) // private before the first byte is in it
      await backup(source, to)
    } finally {
      source.close()
    }
  } catch (error) {
    rmSync(to, { force: true })
    throw toStoreError(error, from)
  }
}
