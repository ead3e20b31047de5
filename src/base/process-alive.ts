import { readFileSync } from "node:fs"

import { errorCode } from "./system-error.ts"

/** Whether a process is running on this machine, under any user. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false
  }
  // A killed process stays in the process table as a zombie until its parent reads the exit code, which may never happen in a container.
  return !["Z", "X"].includes(statFields(pid)[0] ?? "")
}

/** The start time, which distinguishes a process from a later one with the same id; "" where the system does not provide it. */
export function processStartTime(pid: number): string {
  return statFields(pid)[19] ?? ""
}

/** The fields of /proc/<pid>/stat after the process name, beginning with the state; empty where there are none. */
function statFields(pid: number): readonly string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  } catch {
    // Not Linux, or the process has exited.
    return []
  }
}
