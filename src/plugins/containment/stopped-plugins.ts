import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import type { Home } from "../../config/home.ts"

/** Plugins that blocked Hermes. Each has a file, which the watchdog can write without a lock while the main thread is stuck. */
export function stoppedFile(home: Home, key: string): string {
  return join(home.file("plugins"), ".stopped", `${encodeURIComponent(key)}.json`)
}

/** Why the plugin is not loaded; undefined when it may be. */
export function stoppedReason(home: Home, key: string): string | undefined {
  let content: unknown
  try {
    content = parseJson(readFileSync(stoppedFile(home, key), "utf8"))
  } catch {
    // Without the file it has not been stopped.
    return undefined
  }
  const reason = isRecord(content) && typeof content["reason"] === "string" ? content["reason"] : "it blocked Hermes"
  return `${reason}; enable it again with \`hermes plugins enable ${key}\``
}

export function markStopped(home: Home, key: string, reason: string): void {
  const path = stoppedFile(home, key)
  makeDirectories(join(path, ".."))
  writeFileAtomic(path, `${JSON.stringify({ reason })}\n`)
}

export function clearStopped(home: Home, key: string): void {
  rmSync(stoppedFile(home, key), { force: true })
}
