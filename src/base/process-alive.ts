import { readFileSync } from "node:fs"

import { errorCode } from "./system-error.ts"

/** Whether a process of this machine exists; one that belongs to somebody else counts too. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return errorCode(error) !== "ESRCH"
  }
}

/** Tells a process from a later one with the same id: its start time, where the system shows it. */
export function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}
