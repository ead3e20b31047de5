import { mkdirSync, rmdirSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { errorCode } from "./system-error.ts"

/**
 * Creates a directory with its missing parents and returns the topmost one it created, or undefined when it existed. Node's own
 * recursive mkdir never returns where a parent exists but cannot have children, as below /proc; this one throws and removes the
 * parents it created.
 */
export function makeDirectories(path: string, mode = 0o700): string | undefined {
  try {
    mkdirSync(path, { mode })
    return path
  } catch (error) {
    const code = errorCode(error)
    if (code === "EEXIST" && statSync(path).isDirectory()) return undefined
    if (code !== "ENOENT" || dirname(path) === path) throw error
    const created = makeDirectories(dirname(path), mode)
    if (created === undefined) throw error
    try {
      mkdirSync(path, { mode })
    } catch (cause) {
      removeCreatedDirectories(dirname(path), created)
      throw cause
    }
    return created
  }
}

/** Undoes `makeDirectories`: removes `path` and its parents up to `topmost`, as long as they are empty. */
export function removeCreatedDirectories(path: string, topmost: string): void {
  try {
    rmdirSync(path)
  } catch {
    // No longer empty, so it is in use.
    return
  }
  if (path !== topmost && dirname(path) !== path) removeCreatedDirectories(dirname(path), topmost)
}
