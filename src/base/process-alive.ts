import { readFileSync } from "node:fs"

import { errorCode } from "./system-error.ts"

/** Whether a process of this machine runs; one that belongs to somebody else counts too. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false
  }
  // In a container nobody may ever ask for the exit code of a process that was killed: its number stays, and it does nothing more.
  return !["Z", "X"].includes(statFields(pid)[0] ?? "")
}

/** Tells a process from a later one with the same id: its start time, where the system shows it. */
export function processStart(pid: number): string {
  return statFields(pid)[19] ?? ""
}

/** What the system tells about a process behind its name, beginning with its state; nothing where it does not. */
function statFields(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  } catch {
    // Another system, or the process is gone.
    return []
  }
}
