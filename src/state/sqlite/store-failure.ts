import { dirname } from "node:path"
import { assertNever } from "../../base/assert-never.ts"
import { diskProblem, diskProblemOf } from "../../base/disk-problem.ts"
import type { DiskProblem } from "../../base/disk-problem.ts"
import { errorCode, errorMessage, explainSystemError } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"

/** SQLite's primary result codes: the low byte of the extended codes. */
const SQLITE = {
  statement: 1,
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  auth: 23,
  notADatabase: 26,
}

/** Converts an error of the engine to a `StoreError` whose message says what to do. */
export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error
  const options = { cause: error }
  switch (primaryCode(error)) {
    case SQLITE.busy:
    case SQLITE.locked:
      return new StoreError(
        "locked",
        `The session database ${path} is locked by another process. Close other Hermes windows or try again.`,
        options,
      )
    case SQLITE.readOnly:
      return (
        diskFailure(diskProblem(dirname(path)), path, error) ??
        new StoreError("read-only", `The session database ${path} cannot be written. Check its permissions.`, options)
      )
    case SQLITE.full:
      return diskFailure("full", path, error)
    case SQLITE.corrupt:
      return new StoreError(
        "corrupt",
        `The session database ${path} is damaged (${errorMessage(error)}). Run \`hermes sessions repair\`.`,
        options,
      )
    case SQLITE.notADatabase:
      return new StoreError(
        "corrupt",
        `${path} is not a session database. Move it away, and Hermes will create a new one.`,
        options,
      )
    case SQLITE.cantOpen:
    case SQLITE.ioError:
      // Without space SQLite cannot create the files that belong to a database, and reports an I/O error.
      return (
        diskFailure(diskProblem(dirname(path)), path, error) ??
        new StoreError(
          "unavailable",
          `The session database ${path} cannot be opened or read: ${reason(error)}.`,
          options,
        )
      )
    default:
      return systemFailure(error, path)
  }
}

/** True when another connection holds the lock. The statement had no effect and can be retried. */
export function isLocked(error: unknown): boolean {
  const code = primaryCode(error)
  return code === SQLITE.busy || code === SQLITE.locked
}

/** True when the contents of the file are damaged. */
export function isDamage(error: unknown): boolean {
  const code = primaryCode(error)
  return code === SQLITE.corrupt || code === SQLITE.notADatabase
}

/** True when rows cannot be read because the file is damaged or the disk cannot return a part of it. */
export function isUnreadable(error: unknown): boolean {
  return isDamage(error) || READ_FAILURES.has(extendedCode(error) ?? 0)
}

/** SQLite's extended codes for a failed and for an incomplete read. */
const READ_FAILURES: ReadonlySet<number> = new Set([266, 522])

/** True for an invalid statement, such as a full-text query with a syntax error. */
export function isStatementError(error: unknown): boolean {
  return primaryCode(error) === SQLITE.statement
}

/** Network and FUSE file systems that lack the shared memory for WAL fail with these messages. */
export function refusesWal(error: unknown): boolean {
  const message = errorMessage(error).toLowerCase()
  return message.includes("locking protocol") || message.includes("not authorized")
}

function diskFailure(problem: "full", path: string, error: unknown): StoreError
function diskFailure(problem: DiskProblem | undefined, path: string, error: unknown): StoreError | undefined
function diskFailure(problem: DiskProblem | undefined, path: string, error: unknown): StoreError | undefined {
  const options = { cause: error }
  switch (problem) {
    case "full":
      return new StoreError(
        "disk-full",
        `The disk that holds the session database ${path} is full. Free some space, then try again.`,
        options,
      )
    case "read-only":
      return new StoreError("read-only", `The session database ${path} is on a read-only file system.`, options)
    case undefined:
      return undefined
    default:
      return assertNever(problem)
  }
}

function systemFailure(error: unknown, path: string): StoreError {
  const options = { cause: error }
  const disk = diskFailure(diskProblemOf(error), path, error)
  if (disk !== undefined) return disk
  switch (errorCode(error)) {
    case "ERR_SQLITE_ERROR":
      if (refusesWal(error)) return new StoreError("unavailable", networkFileSystemMessage(path, error), options)
      return new StoreError("failed", `An operation on the session database failed: ${errorMessage(error)}.`, options)
    default:
      return new StoreError("unavailable", `The session database ${path} cannot be used: ${reason(error)}.`, options)
  }
}

function networkFileSystemMessage(path: string, error: unknown): string {
  return (
    `The session database ${path} cannot be locked (${errorMessage(error)}). ` +
    "This happens on network and FUSE file systems. Move the Hermes home to a local disk."
  )
}

function reason(error: unknown): string {
  return explainSystemError(error)
}

function primaryCode(error: unknown): number | undefined {
  const code = extendedCode(error)
  return code === undefined ? undefined : code & 0xff
}

function extendedCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined
  return typeof error.errcode === "number" ? error.errcode : undefined
}
