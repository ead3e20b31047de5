import { closeSync, openSync } from "node:fs"
import { DatabaseSync, backup } from "node:sqlite"
import { toStoreError } from "./store-failure.ts"

/**
 * A consistent copy of a database that may be in use, for backups and snapshots: copying the file alone would miss what is
 * still in its write-ahead log. The target is overwritten.
 */
export async function copyDatabase(path: string, target: string): Promise<void> {
  try {
    const source = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    try {
      closeSync(openSync(target, "w", 0o600)) // private before the first byte is in it
      await backup(source, target)
    } finally {
      source.close()
    }
  } catch (error) {
    throw toStoreError(error, path)
  }
}
