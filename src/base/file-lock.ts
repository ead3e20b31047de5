import { AsyncLocalStorage } from "node:async_hooks"
import { randomHex } from "./random-and-hash.ts"
import { closeSync, openSync, readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { resolve } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { isRecord, parseJson } from "./json.ts"
import { isProcessAlive, processStartTime } from "./process-alive.ts"
import { errorCode, isNotFound } from "./system-error.ts"

/** The lock was still held after the wait time. */
export class FileLockError extends Error {
  override readonly name = "FileLockError"
}

export interface FileLockOptions {
  readonly waitMs: number
  readonly signal?: AbortSignal
  /**
   * Also excludes the Python edition, which locks this file with flock(2). The file then stays after the work. Costs a few
   * milliseconds, for a program that locks.
   */
  readonly sharedWithPython?: boolean
}

/**
 * Runs `work` while this process holds the lock file at `path`. The lock is advisory: every writer of the guarded file must
 * acquire it. A waiting process takes over a lock whose owner is dead. The lock is reentrant: `work` may acquire it again. Throws
 * `FileLockError` after `waitMs`, or the signal's reason.
 */
export async function withFileLock<T>(path: string, options: FileLockOptions, work: () => T | Promise<T>): Promise<T> {
  const key = resolve(path)
  const outer = heldLocks.getStore() ?? []
  if (outer.some((lock) => lock.key === key && !lock.released)) return await work()
  const ownerFile = options.sharedWithPython === true ? `${key}.owner` : key
  const token = await acquire(ownerFile, options)
  const lock: HeldLock = { key, released: false }
  const heartbeat = setInterval(() => refresh(ownerFile, token), HEARTBEAT_MS)
  heartbeat.unref()
  try {
    const flocked = options.sharedWithPython === true ? await excludePython(key, options) : undefined
    try {
      return await heldLocks.run([...outer, lock], async () => await work())
    } finally {
      flocked?.release()
    }
  } finally {
    clearInterval(heartbeat)
    lock.released = true
    if (readOwner(ownerFile)?.token === token) rmSync(ownerFile, { force: true })
  }
}

/** Where flock(2) is not supported, the Python edition cannot lock either. */
async function excludePython(path: string, options: FileLockOptions): Promise<{ release(): void }> {
  const { flock } = await import("./flock.ts")
  const outcome = await flock(path, options)
  if (outcome.kind === "timeout") throw new FileLockError(timeoutMessage("another process", path, options.waitMs))
  return outcome
}

interface HeldLock {
  readonly key: string
  released: boolean
}

/** The locks held by the current asynchronous call chain. */
const heldLocks = new AsyncLocalStorage<readonly HeldLock[]>()

const HEARTBEAT_MS = 5_000
/** An owner on another machine or in another container cannot be probed; without a heartbeat for this long it counts as dead. */
const SILENT_MS = 30_000
/** A lock without a readable owner: its creator died before writing it, or another edition created it. */
const UNREADABLE_MS = 2_000

interface Owner {
  readonly pid: number
  readonly start: string
  readonly host: string
  readonly token: string
}

async function acquire(path: string, options: FileLockOptions): Promise<string> {
  const deadline = Date.now() + options.waitMs
  for (let pause = 5; ; pause = Math.min(pause * 2, 50)) {
    options.signal?.throwIfAborted()
    const token = tryCreate(path)
    if (token !== undefined) return token
    if (isAbandoned(path) && removeAbandoned(path)) continue
    const left = deadline - Date.now()
    if (left <= 0) throw new FileLockError(timeoutMessage(holderOf(path), path, options.waitMs))
    const wait = Math.min(left, pause * (0.5 + Math.random()))
    await delay(wait, undefined, options.signal === undefined ? {} : { signal: options.signal })
  }
}

function tryCreate(path: string): string | undefined {
  let descriptor: number
  try {
    descriptor = openSync(path, "wx", 0o600)
  } catch (cause) {
    if (errorCode(cause) === "EEXIST") return undefined
    throw cause
  }
  const token = randomHex(8)
  try {
    const owner: Owner = { pid: process.pid, start: processStartTime(process.pid), host: hostToken(), token }
    writeFileSync(descriptor, JSON.stringify(owner))
  } catch (cause) {
    rmSync(path, { force: true })
    throw cause
  } finally {
    closeSync(descriptor)
  }
  return token
}

function isAbandoned(path: string): boolean {
  const silentFor = silence(path)
  if (silentFor === undefined) return false
  const owner = readOwner(path)
  if (owner === undefined) return silentFor > UNREADABLE_MS
  if (owner.host !== hostToken()) return silentFor > SILENT_MS
  const start = processStartTime(owner.pid)
  return !isProcessAlive(owner.pid) || (start !== "" && start !== owner.start)
}

/**
 * Two waiters may both find a dead owner, and the second must not remove the lock that the first has just acquired. So the check
 * is repeated under a guard file before removal.
 */
function removeAbandoned(path: string): boolean {
  const guard = `${path}.takeover`
  try {
    closeSync(openSync(guard, "wx", 0o600))
  } catch (cause) {
    if (errorCode(cause) !== "EEXIST") throw cause
    // Guards exist for microseconds: an old one belongs to a process that was killed inside this function.
    if ((silence(guard) ?? 0) > SILENT_MS) rmSync(guard, { force: true })
    return false
  }
  try {
    if (!isAbandoned(path)) return false
    rmSync(path, { force: true })
    return true
  } finally {
    rmSync(guard, { force: true })
  }
}

function silence(path: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? undefined : Date.now() - stats.mtimeMs
}

function readOwner(path: string): Owner | undefined {
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (cause) {
    if (isNotFound(cause)) return undefined
    throw cause
  }
  const value = parseJson(text)
  if (!isRecord(value)) return undefined
  const { pid, start, host, token } = value
  if (typeof pid !== "number" || typeof start !== "string" || typeof host !== "string" || typeof token !== "string") {
    return undefined
  }
  return { pid, start, host, token }
}

function refresh(path: string, token: string): void {
  try {
    if (readOwner(path)?.token !== token) return
    const now = new Date()
    utimesSync(path, now, now)
  } catch {
    // The heartbeat repeats every few seconds; a single one may fail.
  }
}

/** Process ids are unique only within one host and one process namespace. */
function hostToken(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`
  } catch {
    return hostname()
  }
}

function holderOf(path: string): string {
  const owner = readOwner(path)
  return owner === undefined ? "another process" : `process ${owner.pid}`
}

function timeoutMessage(holder: string, path: string, waitMs: number): string {
  return `${holder} has held the lock ${path} for more than ${waitMs / 1000} s; wait for it to finish or end it, then try again`
}
