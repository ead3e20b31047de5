import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { makeDirectories } from "../base/make-directories.ts"
import { writeFileAtomic } from "../base/atomic-file.ts"
import { epochSeconds } from "../base/clock.ts"
import type { Clock } from "../base/clock.ts"
import { withFileLock } from "../base/file-lock.ts"
import { isRecord, parseJson } from "../base/json.ts"
import { isProcessAlive } from "../base/process-alive.ts"
import { randomHex } from "../base/random-and-hash.ts"
import { errorMessage, isNotFound } from "../base/system-error.ts"
import type { StoreLogger } from "./store.ts"

/** One running session. */
export interface LeaseHolder {
  readonly id: string
  readonly surface: string
  readonly pid: number
  /** Epoch seconds. */
  readonly startedAt: number
}

export type LeaseOutcome =
  | { readonly kind: "granted"; release(): Promise<void> }
  | { readonly kind: "full"; readonly limit: number; readonly holders: readonly LeaseHolder[] }

export interface LeaseRequest {
  readonly home: string
  readonly limit: number
  readonly id: string
  readonly surface: string
  readonly clock: Clock
  readonly log: StoreLogger
}

/**
 * Acquires one of the slots that `max_concurrent_sessions` allows. Drops holders whose process no longer runs. Grants the lease when
 * the registry cannot be read or locked: the limit protects the machine and must not lock its owner out.
 */
export async function acquireLease(request: LeaseRequest): Promise<LeaseOutcome> {
  const path = registryPath(request.home)
  const own: Entry = {
    lease_id: randomHex(16),
    session_id: request.id,
    surface: request.surface,
    pid: process.pid,
    process_start_time: null,
    started_at: epochSeconds(request.clock),
    updated_at: epochSeconds(request.clock),
  }
  try {
    return await locked(path, () => {
      const others = readEntries(path, request.log).filter((entry) => !isSame(entry, own) && isRunning(entry))
      if (others.length >= request.limit) return { kind: "full", limit: request.limit, holders: others.map(toHolder) }
      writeEntries(path, [...others, own])
      return { kind: "granted", release: () => release(path, own, request.log) }
    })
  } catch (error) {
    request.log.warning(`The limit on concurrent sessions is not enforced: ${errorMessage(error)}`)
    return { kind: "granted", release: () => Promise.resolve() }
  }
}

/** One line of the registry. The Python edition uses the same file and refuses to start when it finds another format. */
type Entry = Readonly<Record<string, unknown>>

const LOCK_WAIT_MS = 2000

function registryPath(home: string): string {
  return join(home, "runtime", "active_sessions.json")
}

async function locked<T>(path: string, work: () => T): Promise<T> {
  makeDirectories(dirname(path))
  const lock = join(dirname(path), "active_sessions.lock")
  return await withFileLock(lock, { waitMs: LOCK_WAIT_MS, sharedWithPython: true }, work)
}

async function release(path: string, own: Entry, log: StoreLogger): Promise<void> {
  try {
    await locked(path, () =>
      writeEntries(
        path,
        readEntries(path, log).filter((entry) => !isSame(entry, own)),
      ),
    )
  } catch (error) {
    // The slot becomes free anyway when this process exits.
    log.debug(`The slot of a session could not be released: ${errorMessage(error)}`)
  }
}

function readEntries(path: string, log: StoreLogger): readonly Entry[] {
  let content: string
  try {
    content = readFileSync(path, "utf8")
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
  const registry = parseJson(content)
  if (isRecord(registry) && Array.isArray(registry["entries"])) return registry["entries"].filter(isRecord)
  log.warning(`The list of running sessions in ${path} is not valid. It is replaced by an empty one.`)
  return []
}

/** Writes other entries as they were read, with fields of the Python edition. */
function writeEntries(path: string, entries: readonly Entry[]): void {
  writeFileAtomic(path, `${JSON.stringify({ entries }, undefined, 2)}\n`, { mode: 0o600 })
}

function isRunning({ pid }: Entry): boolean {
  return typeof pid === "number" && isProcessAlive(pid)
}

function toHolder({ session_id: id, surface, pid, started_at: startedAt }: Entry): LeaseHolder {
  return {
    id: typeof id === "string" ? id : "",
    surface: typeof surface === "string" ? surface : "unknown",
    pid: Number(pid),
    startedAt: typeof startedAt === "number" ? startedAt : 0,
  }
}

function isSame(a: Entry, b: Entry): boolean {
  return a["session_id"] === b["session_id"] && a["pid"] === b["pid"]
}
