import { existsSync } from "node:fs"

/** Exists while a process rewrites the database. `withFileLock` removes the files of killed processes. */
export function maintenanceLock(path: string): string {
  return `${path}.maintenance.lock`
}

export function isMaintained(path: string): boolean {
  return existsSync(maintenanceLock(path))
}
