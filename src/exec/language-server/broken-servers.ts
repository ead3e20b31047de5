import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { explainSystemError } from "../../base/system-error.ts"

/** A server that failed in a project. */
export interface BrokenServer {
  readonly server: string
  readonly root: string
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** How long a failed server is not started again. */
export const BROKEN_FOR_MS = 3_600_000
const MAX_KEPT = 100
const MAX_REASON_CHARS = 500

/**
 * Records servers that failed and are not started again for an hour. The file lets other sessions skip them too, and lets
 * `hermes lsp restart` clear them while a session is running.
 */
export function createBrokenServers(options: { readonly file: string; readonly clock: Clock; readonly log: Logger }) {
  const { file, clock, log } = options
  /** Entries that could not be written to the file. */
  const unsaved: BrokenServer[] = []
  const recent = (all: readonly BrokenServer[]): readonly BrokenServer[] =>
    all.filter(({ at }) => clock.now() - at < BROKEN_FOR_MS)
  const list = (): readonly BrokenServer[] => recent([...readBroken(file), ...unsaved])
  return {
    list,
    has: (server: string, root: string): boolean =>
      list().some((entry) => entry.server === server && entry.root === root),
    add: (server: string, root: string, reason: string): void => {
      const entry = { server, root, reason: reason.slice(0, MAX_REASON_CHARS), at: clock.now() }
      const others = recent(readBroken(file)).filter((entry) => entry.server !== server || entry.root !== root)
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
        writeFileAtomic(file, `${JSON.stringify([...others, entry].slice(-MAX_KEPT), undefined, 2)}\n`)
      } catch (error) {
        unsaved.push(entry)
        log.warning(`cannot record a failed language server in ${file}: ${explainSystemError(error)}`)
      }
    },
  }
}

/** Clears the failures of one server, or of all if `server` is undefined. Returns how many there were. */
export function clearBrokenServers(file: string, server: string | undefined): number {
  const all = readBroken(file)
  const remaining = all.filter((entry) => server !== undefined && entry.server !== server)
  if (remaining.length === all.length) return 0
  if (remaining.length === 0) rmSync(file, { force: true })
  else writeFileAtomic(file, `${JSON.stringify(remaining, undefined, 2)}\n`)
  return all.length - remaining.length
}

/** Returns nothing for an unreadable or damaged file: the servers are then tried again. */
function readBroken(file: string): readonly BrokenServer[] {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch {
    // Usually the file does not exist, because nothing has failed yet.
    return []
  }
  const parsed = parseJson(text)
  return Array.isArray(parsed) ? parsed.flatMap(parseEntry) : []
}

function parseEntry(value: unknown): readonly BrokenServer[] {
  if (!isRecord(value)) return []
  const { server, root, reason, at } = value
  return typeof server === "string" && typeof root === "string" && typeof reason === "string" && typeof at === "number"
    ? [{ server, root, reason, at }]
    : []
}
