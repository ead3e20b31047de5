import { readdirSync, readlinkSync } from "node:fs"

/** The processes of this machine, those inside sandboxes too, whose working directory this is. */
export function processesIn(directory: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`) === directory
      } catch {
        // It has just ended, or belongs to somebody else.
        return false
      }
    })
}
