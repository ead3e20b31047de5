import { mkdirSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { errorCode } from "./system-error.ts"

/**
 * Creates a directory with its missing parents and gives the topmost one it made, or undefined when all was there. Node's own
 * recursive mkdir never returns where a parent exists but takes no children, as below /proc; this one throws.
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
    mkdirSync(path, { mode })
    return made
  }
}
