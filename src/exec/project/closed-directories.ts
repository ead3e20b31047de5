import { chmodSync } from "node:fs"
import type { Stats } from "node:fs"

import { openVerified } from "../local/verified-path.ts"
import { CLOCK_TICK_MS } from "./time-of-change.ts"

const READ_AND_SEARCH = 0o500
const READ_WRITE_AND_SEARCH = 0o700

/**
 * Whether a directory is the user's own and a command may have taken away the permission to read or search it, so that checks do not see
 * what is in it. One that the user closed earlier stays closed.
 */
export function isClosedSince({ mode, uid, ctimeMs }: Stats, sinceMs: number): boolean {
  if ((mode & READ_AND_SEARCH) === READ_AND_SEARCH) return false
  return uid === process.getuid?.() && ctimeMs >= sinceMs - CLOCK_TICK_MS
}

/** Gives the owner all permissions of a directory. The path has no links. */
export function openDirectory(path: string): void {
  const directory = openVerified(path, "directory")
  try {
    chmodSync(directory.path, (directory.stats.mode & 0o7777) | READ_WRITE_AND_SEARCH)
  } finally {
    directory.close()
  }
}
