import { closeSync, openSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { randomHex } from "./random-and-hash.ts"
import { errorCode } from "./system-error.ts"

export type DiskProblem = "full" | "read-only"

/** More than what SQLite needs to open a database. */
const PROBE_BYTES = 64 * 1024

/**
 * Why nothing can be written to a directory: its disk is full, a quota is used up, or the file system is read-only. Tries it, because the
 * error of a library often does not tell, and quotas are not part of the free space. Undefined when writing works, or fails for another
 * reason such as permissions.
 */
export function diskProblem(directory: string): DiskProblem | undefined {
  const path = join(directory, `.hermes-probe-${randomHex(6)}`)
  try {
    const file = openSync(path, "wx", 0o600)
    try {
      for (let written = 0; written < PROBE_BYTES;) written += writeSync(file, Buffer.alloc(PROBE_BYTES - written))
    } finally {
      closeSync(file)
      rmSync(path, { force: true })
    }
    return undefined
  } catch (error) {
    return diskProblemOf(error)
  }
}

/** The same for a system error that names it. */
export function diskProblemOf(error: unknown): DiskProblem | undefined {
  switch (errorCode(error)) {
    case "ENOSPC":
    case "EDQUOT":
      return "full"
    case "EROFS":
      return "read-only"
    default:
      return undefined
  }
}
