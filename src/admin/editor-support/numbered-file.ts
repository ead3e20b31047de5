import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { makeDirectories } from "../../base/make-directories.ts"
import { errorCode } from "../../base/system-error.ts"

/**
 * Writes a private file whose name contains a number: the given one, or the next that is free, because other processes use the same
 * directory. Throws the system error.
 */
export function writeNumberedFile(
  directory: string,
  data: string | Uint8Array,
  { first, nameOf }: { readonly first: number; readonly nameOf: (number: number) => string },
): { readonly path: string; readonly number: number } {
  makeDirectories(directory)
  for (let number = first; ; number += 1) {
    const path = join(directory, nameOf(number))
    if (writeNew(path, data)) return { path, number }
  }
}

/** Returns false when the file exists. */
function writeNew(path: string, data: string | Uint8Array): boolean {
  try {
    writeFileSync(path, data, { flag: "wx", mode: 0o600 })
    return true
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false
    rmSync(path, { force: true })
    throw error
  }
}
