import { statSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { withFileLock } from "../../base/file-lock.ts"
import type { ReportProgress } from "../../base/progress.ts"
import type { CompactOutcome } from "../store.ts"
import { maintenanceLock } from "./maintenance-lock.ts"
import { isLocked } from "./store-failure.ts"

/**
 * Rewrites the file without its free pages. SQLite cannot do that in parts, so it is done only while no other process has the database
 * open. A process that opens it meanwhile waits until the lock file is gone (connection.ts). This process must have closed it.
 */
export async function compactDatabase(path: string, progress?: ReportProgress): Promise<CompactOutcome> {
  return await withFileLock(maintenanceLock(path), { waitMs: 0 }, () => {
    const db = openExclusively(path)
    if (db === undefined) return "in-use"
    try {
      progress?.({ step: `rewriting the session database (${Math.ceil(statSync(path).size / MEGABYTE)} MB)` })
      db.exec("VACUUM")
      db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()
      return "compacted"
    } finally {
      db.close()
      progress?.(undefined)
    }
  })
}

const MEGABYTE = 1024 * 1024

/** Undefined while another connection exists. In this mode SQLite locks the whole file, not only its writers. */
function openExclusively(path: string): DatabaseSync | undefined {
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
    return db
  } catch (error) {
    db.close()
    if (!isLocked(error)) throw error
    return undefined
  }
}
