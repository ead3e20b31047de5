import { mkdirSync, rmdirSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { errorCode } from "./system-error.ts"

/**
 * Creates a directory with its missing parents and gives the topmost one it made, or undefined when all was there. Node's own
 * recursive mkdir never returns where a parent exists but takes no children, as below /proc; this one throws, and leaves no new parent then.
 */
export function makeDirectories(path: string, mode = 0o700): string | undefined {
  try {
    mkdirSync(path, { mode })
    return path
  } catch (error) {
    const code = errorCode(error)
    if (code === "EEXIST" && statSync(path).isDirectory()) return undefined
    if (code !== "ENOENT" || dirname(path) === path) throw error
    const made = makeDirectories(dirname(path), mode)
    if (made === undefined) throw error
    try {
      mkdirSync(path, { mode })
    } catch (cause) {
      removeMade(dirname(path), made)
      throw cause
    }
    return made
  }
}

/** Takes back what `makeDirectories` made: `path` and its parents up to `topmost`, as long as they are empty. */
export function removeMade(path: string, topmost: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Somebody has put something into it meanwhile: then it is needed.
    return
  }
  if (path !== topmost && dirname(path) !== path) removeMade(dirname(path), topmost)
}
