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

/** How long a server that failed is left alone. */
export const BROKEN_FOR_MS = 3_600_000
const MAX_KEPT = 100
const MAX_REASON_CHARS = 500

/**
 * Servers that are not started again for an hour. They stand in a file, so that other sessions do not run into the same wall, and
 * `hermes lsp restart` can take them off it while a session runs.
 */
export function createBrokenServers(options: { readonly file: string; readonly clock: Clock; readonly log: Logger }) {
  const { file, clock, log } = options
  /** Only what the file could not take. */
  const unsaved: BrokenServer[] = []
  const fresh = (all: readonly BrokenServer[]): readonly BrokenServer[] =>
    all.filter(({ at }) => clock.now() - at < BROKEN_FOR_MS)
  const list = (): readonly BrokenServer[] => fresh([...readBroken(file), ...unsaved])
  return {
    list,
    has: (server: string, root: string): boolean => list().some((one) => one.server === server && one.root === root),
    add: (server: string, root: string, reason: string): void => {
      const entry = { server, root, reason: reason.slice(0, MAX_REASON_CHARS), at: clock.now() }
      const others = fresh(readBroken(file)).filter((one) => one.server !== server || one.root !== root)
      try {
        mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
        writeFileAtomic(file, `${JSON.stringify([...others, entry].slice(-MAX_KEPT), undefined, 2)}\n`)
      } catch (error) {
        unsaved.push(entry)
        log.warning(`a failed language server could not be noted in ${file}: ${explainSystemError(error)}`)
      }
    },
  }
}

/** Forgets the failures of one server, or of all. Gives how many there were. */
export function forgetBroken(file: string, server: string | undefined): number {
  const all = readBroken(file)
  const left = all.filter((one) => server !== undefined && one.server !== server)
  if (left.length === all.length) return 0
  if (left.length === 0) rmSync(file, { force: true })
  else writeFileAtomic(file, `${JSON.stringify(left, undefined, 2)}\n`)
  return all.length - left.length
}

/** A file that cannot be read, or was spoilt, names no failures: the servers are then simply tried. */
function readBroken(file: string): readonly BrokenServer[] {
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch {
    // Usually there is none: nothing has failed yet.
    return []
  }
  const parsed = parseJson(text)
  return Array.isArray(parsed) ? parsed.flatMap(brokenServer) : []
}

function brokenServer(value: unknown): readonly BrokenServer[] {
  if (!isRecord(value)) return []
  const { server, root, reason, at } = value
  return typeof server === "string" && typeof root === "string" && typeof reason === "string" && typeof at === "number"
    ? [{ server, root, reason, at }]
    : []
}
