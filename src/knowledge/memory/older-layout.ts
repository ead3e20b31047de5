import { linkSync, lstatSync, renameSync, unlinkSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { makeDirectories } from "../../base/make-directories.ts"
import { errorCode, explainSystemError } from "../../base/system-error.ts"

/**
 * Early homes kept MEMORY.md and USER.md beside config.yaml. Such a file is moved to its place below `memories/`, unless one is
 * there already. Gives a sentence for the person when something was done or needs a decision. Never throws.
 */
export function moveFromOlderPlace(path: string): string | undefined {
  if (basename(dirname(path)) !== "memories") return undefined
  const older = join(dirname(path), "..", basename(path))
  const stats = lstatSync(older, { throwIfNoEntry: false })
  if (stats === undefined || stats.isDirectory()) return undefined
  if (!stats.isFile() || lstatSync(path, { throwIfNoEntry: false }) !== undefined) return leftAlone(older, path)
  try {
    makeDirectories(dirname(path))
    moveWithoutOverwriting(older, path)
    return `${older} was moved to ${path}.`
  } catch (error) {
    const code = errorCode(error)
    if (code === "ENOENT" || code === "EEXIST") return undefined // another process was faster
    return `${older} could not be moved to ${path}: ${explainSystemError(error)}.`
  }
}

function leftAlone(older: string, path: string): string {
  return `${older} is not used, because memory is kept in ${path}; copy over what you need and remove it.`
}

/** A rename would replace what another process has put there a moment ago; a link does not. */
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
