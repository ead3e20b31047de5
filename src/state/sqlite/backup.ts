import { closeSync, openSync, rmSync } from "node:fs"
import { basename } from "node:path"
import { backup, DatabaseSync } from "node:sqlite"
import type { ReportProgress } from "../../base/progress.ts"
import { toStoreError } from "./store-failure.ts"

/**
 * Copies a consistent snapshot of a database while other processes may write to it. Copying the file would miss the contents of the
 * write-ahead log. Rejects with a `StoreError` and then removes `to`.
 */
export async function backupDatabase(from: string, to: string, report?: ReportProgress): Promise<void> {
  try {
    const source = new DatabaseSync(from, { readOnly: true, timeout: 5000 })
    try {
      // Without a transaction SQLite starts again whenever another process writes, and might never finish a large database.
      source.exec("BEGIN")
      source.prepare("SELECT count(*) FROM sqlite_master").get()
      closeSync(openSync(to, "w", 0o600)) // readable only by the owner from the start
      await backup(source, to, {
        progress: ({ totalPages, remainingPages }) =>
          report?.({ step: `copying ${basename(from)}`, done: totalPages - remainingPages, total: totalPages }),
      })
    } finally {
      report?.(undefined)
      source.close()
    }
  } catch (error) {
    rmSync(to, { force: true })
    throw toStoreError(error, from)
  }
}
