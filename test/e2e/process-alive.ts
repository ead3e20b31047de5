import { readFileSync } from "node:fs"

import { errorCode, isNotFound } from "../../src/base/system-error.ts"

/** A killed process may wait for its new parent to take note; it is gone all the same. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch (error) {
    if (isNotFound(error) || errorCode(error) === "ESRCH") return false
    throw error
  }
}
