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
