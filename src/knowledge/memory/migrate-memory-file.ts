import { linkSync, lstatSync, renameSync, unlinkSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { makeDirectories } from "../../base/make-directories.ts"
import { errorCode, explainSystemError } from "../../base/system-error.ts"

/**
 * Early versions stored MEMORY.md and USER.md next to config.yaml. Moves such a file to `memories/`, unless one exists there. Returns a
 * message for the user when it moved the file or could not. Never throws.
 */
export function migrateMemoryFile(path: string): string | undefined {
  if (basename(dirname(path)) !== "memories") return undefined
  const oldPath = join(dirname(path), "..", basename(path))
  const stats = lstatSync(oldPath, { throwIfNoEntry: false })
  if (stats === undefined || stats.isDirectory()) return undefined
  if (!stats.isFile() || lstatSync(path, { throwIfNoEntry: false }) !== undefined) return notUsed(oldPath, path)
  try {
    makeDirectories(dirname(path))
    moveWithoutOverwriting(oldPath, path)
    return `${oldPath} was moved to ${path}.`
  } catch (error) {
    const code = errorCode(error)
    if (code === "ENOENT" || code === "EEXIST") return undefined // another process moved it
    return `${oldPath} could not be moved to ${path}: ${explainSystemError(error)}.`
  }
}

function notUsed(oldPath: string, path: string): string {
  return `${oldPath} is not used, because memory is stored in ${path}. Copy what you need and delete it.`
}

/** Links instead of renaming, because a rename would replace a file that another process has just created. */
function moveWithoutOverwriting(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    const code = errorCode(error)
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS" && code !== "EMLINK") throw error
    renameSync(from, to)
    return
  }
  unlinkSync(from)
}
