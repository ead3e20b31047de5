import { readdirSync } from "node:fs"

import { lazy } from "../../base/lazy.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { CommandNotices } from "./command-notices.ts"

interface InterruptedChecksOptions {
  readonly home: Pick<Home, "file" | "path">
  readonly log: Logger
  readonly notices: CommandNotices
  /** The directories of programs, of which git is one. */
  readonly path: string
}

/** Makes the checks of commands during which an earlier Hermes was killed, once. Most starts have none and only look for records. */
export function createInterruptedChecks({ home, log, notices, path }: InterruptedChecksOptions): () => Promise<void> {
  return lazy(async () => {
    if (!hasFiles(home.file("cache", "sandbox", "running"))) return
    try {
      const { checkInterrupted } = await import("../../exec/project-check/interrupted-checks.ts")
      await checkInterrupted({ hermesHome: home.path, path }, (texts) => {
        notices.add(texts)
      })
    } catch (error) {
      log.warning(`what an interrupted command left behind could not be checked: ${errorMessage(error)}`)
    }
  })
}

function hasFiles(directory: string): boolean {
  try {
    return readdirSync(directory).length > 0
  } catch {
    // No command ran in the sandbox yet.
    return false
  }
}
