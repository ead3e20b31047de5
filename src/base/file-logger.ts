import { closeSync, constants, fstatSync, openSync, renameSync, rmSync, statSync, writeSync, type Stats } from "node:fs"
import { dirname, join } from "node:path"
import { makeDirectories } from "./make-directories.ts"
import type { Clock } from "./clock.ts"
import type { LogLevel } from "./log-line.ts"
import { createLogger, type Logger, type LogSink } from "./logger.ts"

export interface FileLoggerOptions {
  /** The `logs` directory of a home; created with the first line. */
  readonly directory: string
  readonly redact: (text: string) => string
  /** Level of agent.log; errors.log always has WARNING and above. */
  readonly level?: LogLevel
  readonly maxBytes?: number
  readonly backups?: number
  readonly clock?: Clock
  /** Further sinks for the same lines, for example stderr with `--verbose`. */
  readonly sinks?: readonly LogSink[]
}

/** The logger of a home: agent.log with everything, errors.log for triage. No file is created before the first line. */
export function createFileLogger(options: FileLoggerOptions): Logger {
  const { directory, redact, level = "INFO", maxBytes = 5 * MEGABYTE, backups = 3, clock, sinks = [] } = options
  return createLogger({
    sinks: [
      createFileSink({ path: join(directory, "agent.log"), level, maxBytes, backups }),
      createFileSink({ path: join(directory, "errors.log"), level: "WARNING", maxBytes: 2 * MEGABYTE, backups: 2 }),
      ...sinks,
    ],
    redact,
    ...(clock && { clock }),
  })
}

const MEGABYTE = 1024 * 1024

/** A single write of at most this size is not interleaved with those of other processes that append to the same file. */
const LARGEST_WRITE = 64 * 1024

/** A rotation takes milliseconds; a lock this old belongs to a process that died. */
const STALE_LOCK_MS = 10_000

export interface FileSinkOptions {
  readonly path: string
  readonly level: LogLevel
  readonly maxBytes: number
  readonly backups: number
}

/** A file that several processes append to and any of them may rotate or remove. */
export function createFileSink(options: FileSinkOptions): LogSink {
  const { path, level, maxBytes, backups } = options
  let open: { readonly descriptor: number; readonly inode: number; readonly device: number } | undefined
  const close = (): void => {
    if (open !== undefined) closeSync(open.descriptor)
    open = undefined
  }
  const ensureOpen = (): number => {
    const present = statSync(path, { throwIfNoEntry: false })
    if (open !== undefined && present?.ino === open.inode && present.dev === open.device) return open.descriptor
    close()
    const descriptor = openForAppend(path)
    const stats = fstatSync(descriptor)
    open = { descriptor, inode: stats.ino, device: stats.dev }
    return descriptor
  }
  return {
    level,
    write: (line) => {
      try {
        const bytes = lineBytes(line)
        if (isFull(statSync(path, { throwIfNoEntry: false }), bytes.length, maxBytes)) {
          rotate(path, { backups, isStillFull: (stats) => isFull(stats, bytes.length, maxBytes) })
        }
        writeSync(ensureOpen(), bytes)
      } catch {
        // A full disk or a read-only home must not stop the work that is being logged, and there is no other log to report it to.
        open = undefined
      }
    },
  }
}

function openForAppend(path: string): number {
  makeDirectories(dirname(path))
  return openSync(path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o600)
}

function lineBytes(line: string): Uint8Array {
  const bytes = Buffer.from(`${line.toWellFormed()}\n`)
  if (bytes.length <= LARGEST_WRITE) return bytes
  const note = `… [cut, the line had ${bytes.length} bytes]\n`
  const kept = new TextDecoder().decode(bytes.subarray(0, LARGEST_WRITE - Buffer.byteLength(note)), { stream: true })
  return Buffer.from(kept + note)
}

function isFull(stats: Stats | undefined, added: number, maxBytes: number): boolean {
  return stats !== undefined && stats.size > 0 && stats.size + added > maxBytes
}

/** Renames `.1` to `.2` and so on and deletes the oldest. A process that does not get the lock leaves the rotation to the other. */
function rotate(
  path: string,
  options: { readonly backups: number; readonly isStillFull: (stats: Stats | undefined) => boolean },
): void {
  const lock = `${path}.lock`
  if (!tryLock(lock)) return
  try {
    if (!options.isStillFull(statSync(path, { throwIfNoEntry: false }))) return
    for (let index = options.backups - 1; index >= 1; index -= 1)
      renameIfPresent(`${path}.${index}`, `${path}.${index + 1}`)
    if (options.backups > 0) renameIfPresent(path, `${path}.1`)
    else rmSync(path, { force: true })
  } finally {
    rmSync(lock, { force: true })
  }
}

function tryLock(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600))
    return true
  } catch {
    // Held by another process, or left by one that died: then it is removed, and the next line can rotate.
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
    if (age > STALE_LOCK_MS) rmSync(path, { force: true })
    return false
  }
}

function renameIfPresent(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false }) !== undefined) renameSync(from, to)
}
