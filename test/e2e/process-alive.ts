import { readFileSync } from "node:fs"

import { errorCode, isNotFound } from "../../src/base/system-error.ts"

/** Returns false for zombies too: a killed process stays one until its parent has reaped it. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch (error) {
    if (isNotFound(error) || errorCode(error) === "ESRCH") return false
    throw error
  }
}
