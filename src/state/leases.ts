import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { makeDirectories } from "../base/make-directories.ts"
import { writeFileAtomic } from "../base/atomic-file.ts"
import { epochSeconds } from "../base/clock.ts"
import type { Clock } from "../base/clock.ts"
import { withFileLock } from "../base/file-lock.ts"
import { isRecord, parseJson } from "../base/json.ts"
import { isProcessAlive } from "../base/process-alive.ts"
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
  const own: LeaseHolder = {
    id: request.id,
    surface: request.surface,
    pid: process.pid,
    startedAt: epochSeconds(request.clock),
  }
  try {
    makeDirectories(dirname(path))
    return await withFileLock(`${path}.lock`, { waitMs: LOCK_WAIT_MS }, () => {
      const others = readHolders(path, request.log).filter(
        (holder) => !isSame(holder, own) && isProcessAlive(holder.pid),
      )
      if (others.length >= request.limit) return { kind: "full", limit: request.limit, holders: others }
      writeHolders(path, [...others, own])
      return { kind: "granted", release: () => release(path, own, request.log) }
    })
  } catch (error) {
    request.log.warning(`The limit on concurrent sessions is not enforced: ${errorMessage(error)}`)
    return { kind: "granted", release: () => Promise.resolve() }
  }
}

const LOCK_WAIT_MS = 2000

function registryPath(home: string): string {
  return join(home, "runtime", "active_sessions.json")
}

async function release(path: string, own: LeaseHolder, log: StoreLogger): Promise<void> {
  try {
    await withFileLock(`${path}.lock`, { waitMs: LOCK_WAIT_MS }, () =>
      writeHolders(
        path,
        readHolders(path, log).filter((holder) => !isSame(holder, own)),
      ),
    )
  } catch (error) {
    // The slot becomes free anyway when this process exits.
    log.debug(`The slot of a session could not be released: ${errorMessage(error)}`)
  }
}

function readHolders(path: string, log: StoreLogger): readonly LeaseHolder[] {
  let content: string
  try {
    content = readFileSync(path, "utf8")
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
  const registry = parseJson(content)
  if (isRecord(registry) && Array.isArray(registry["sessions"])) return registry["sessions"].flatMap(toHolder)
  log.warning(`The list of running sessions in ${path} is not valid. It is replaced by an empty one.`)
  return []
}

function writeHolders(path: string, holders: readonly LeaseHolder[]): void {
  const sessions = holders.map(({ startedAt, ...holder }) => ({ ...holder, started_at: startedAt }))
  writeFileAtomic(path, `${JSON.stringify({ sessions }, undefined, 2)}\n`, { mode: 0o600 })
}

function toHolder(value: unknown): readonly LeaseHolder[] {
  if (!isRecord(value)) return []
  const { id, surface, pid, started_at: startedAt } = value
  if (typeof id !== "string" || typeof surface !== "string") return []
  return typeof pid === "number" && typeof startedAt === "number" ? [{ id, surface, pid, startedAt }] : []
}

function isSame(a: LeaseHolder, b: LeaseHolder): boolean {
  return a.id === b.id && a.pid === b.pid
}
