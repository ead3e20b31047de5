import { closeSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { makeDirectories } from "../../base/make-directories.ts"
import { errorCode } from "../../base/system-error.ts"

/**
 * Creates an empty database file that only its owner can read, unless the file exists. Conversations must be private from the first
 * byte; SQLite creates its write-ahead log with the same mode.
 */
export function createPrivateFile(path: string): void {
  makeDirectories(dirname(path))
  try {
    closeSync(openSync(path, "wx", 0o600))
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
  }
}
