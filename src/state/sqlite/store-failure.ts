import { errorCode, errorMessage, explainSystemError } from "../../base/system-error.ts"
import { StoreError } from "../store.ts"

/** Primary result codes of SQLite; the extended code keeps them in its low byte. */
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

/** What the engine threw, as a `StoreError` with one sentence that says what to do. */
export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error
  const options = { cause: error }
  switch (primaryCode(error)) {
    case SQLITE.busy:
    case SQLITE.locked:
      return new StoreError(
        "locked",
        `The session database ${path} is in use by another process and did not become free; close other Hermes windows or try again.`,
        options,
      )
    case SQLITE.readOnly:
      return new StoreError(
        "read-only",
        `The session database ${path} cannot be written; check its permissions.`,
        options,
      )
    case SQLITE.full:
      return new StoreError(
        "disk-full",
        `The disk with the session database ${path} is full; free some space.`,
        options,
      )
    case SQLITE.corrupt:
      return new StoreError(
        "corrupt",
        `The session database ${path} is damaged (${errorMessage(error)}); run \`hermes sessions repair\`.`,
        options,
      )
    case SQLITE.notADatabase:
      return new StoreError(
        "corrupt",
        `${path} is not a session database; move it away and Hermes starts a new one.`,
        options,
      )
    case SQLITE.cantOpen:
    case SQLITE.ioError:
      return new StoreError(
        "unavailable",
        `The session database ${path} cannot be opened or read: ${reason(error)}.`,
        options,
      )
    default:
      return systemFailure(error, path)
  }
}

/** Another connection holds the lock; the statement changed nothing and may be repeated. */
export function isLocked(error: unknown): boolean {
  const code = primaryCode(error)
  return code === SQLITE.busy || code === SQLITE.locked
}

export function isCorrupt(error: unknown): boolean {
  return primaryCode(error) === SQLITE.corrupt
}

/** SQLite understood the connection but not the statement; a full-text query with bad syntax is one. */
export function isStatementError(error: unknown): boolean {
  return primaryCode(error) === SQLITE.statement
}

/** Network and FUSE file systems refuse the shared memory that WAL needs with these words. */
export function refusesWal(error: unknown): boolean {
  const message = errorMessage(error).toLowerCase()
  return message.includes("locking protocol") || message.includes("not authorized")
}

function systemFailure(error: unknown, path: string): StoreError {
  const options = { cause: error }
  switch (errorCode(error)) {
    case "ENOSPC":
    case "EDQUOT":
      return new StoreError(
        "disk-full",
        `The disk with the session database ${path} is full; free some space.`,
        options,
      )
    case "EROFS":
      return new StoreError("read-only", `The session database ${path} is on a read-only file system.`, options)
    case "ERR_SQLITE_ERROR":
      if (refusesWal(error)) return new StoreError("unavailable", networkSentence(path, error), options)
      return new StoreError("failed", `The session database refused an operation: ${errorMessage(error)}.`, options)
    default:
      return new StoreError("unavailable", `The session database ${path} cannot be used: ${reason(error)}.`, options)
  }
}

function networkSentence(path: string, error: unknown): string {
  return (
    `The session database ${path} cannot be locked (${errorMessage(error)}); ` +
    `this happens on network and FUSE file systems, so put the Hermes home on a local disk.`
  )
}

function reason(error: unknown): string {
  return explainSystemError(error)
}

function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined
}
