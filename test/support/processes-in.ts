import { readdirSync, readlinkSync } from "node:fs"

/** Lists the processes, including sandboxed ones, whose working directory is `directory`. */
export function processesIn(directory: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === directory
      } catch {
        // The process has exited or belongs to another user.
        return false
      }
    })
}
