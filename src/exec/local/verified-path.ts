import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, readlinkSync, realpathSync } from "node:fs"
import type { Stats } from "node:fs"
import { basename, dirname, join } from "node:path"

import { removeCreatedDirectories } from "../../base/make-directories.ts"
import { errorCode, isNotFound } from "../../base/system-error.ts"

/** Another program replaced a part of the path after it was checked. */
export class PathChangedError extends Error {
  override readonly name = "PathChangedError"

  constructor(path: string, cause?: unknown) {
    super(`${path} changed while it was being used; try again`, { cause })
  }
}

/** A file or directory that was opened at exactly the path that was checked. The caller closes it. */
export interface VerifiedPath {
  /** The path for system calls. On Linux it names the open descriptor, so that a later change of the real path has no effect. */
  readonly path: string
  readonly stats: Stats
  /** Throws when the path has changed since. Needed only where descriptors have no path. */
  verify(): void
  close(): void
}

/** From `fcntl.h` of Linux; Node has no constant for it. Opens a path without reading from it, even a pipe or a device. */
const O_PATH = 0o10_000_000

/**
 * Opens a path that must not contain symbolic links, because they were resolved when the path was checked. Throws the system error, or
 * `PathChangedError` when a link is in it now.
 */
export function openVerified(real: string, kind: "any" | "directory" = "any"): VerifiedPath {
  return process.platform === "linux" ? openByDescriptor(real, kind) : openByName(real)
}

/** Opens a directory as `openVerified` does and creates what is missing. `created` is the topmost new directory. */
export function openVerifiedDirectory(
  real: string,
  mode: number,
): { readonly directory: VerifiedPath; readonly created: string | undefined } {
  try {
    return { directory: openVerified(real, "directory"), created: undefined }
  } catch (error) {
    if (!isNotFound(error) || dirname(real) === real) throw error
  }
  const { directory: parent, created } = openVerifiedDirectory(dirname(real), mode)
  try {
    const isNew = makeDirectory(join(parent.path, basename(real)), mode)
    return { directory: openVerified(real, "directory"), created: created ?? (isNew ? real : undefined) }
  } catch (error) {
    if (created !== undefined) removeCreatedDirectories(dirname(real), created)
    throw withRealPath(error, parent.path, dirname(real))
  } finally {
    parent.close()
  }
}

/** Runs system calls on a verified path and names the real path in their errors. */
export function inVerified<T>(verified: VerifiedPath, real: string, work: (path: string) => T): T {
  try {
    const result = work(verified.path)
    verified.verify()
    return result
  } catch (error) {
    throw withRealPath(error, verified.path, real)
  }
}

function openByDescriptor(real: string, kind: "any" | "directory"): VerifiedPath {
  const flags = O_PATH | constants.O_NOFOLLOW | (kind === "directory" ? constants.O_DIRECTORY : 0)
  const descriptor = openSync(real, flags)
  try {
    const path = `/proc/self/fd/${descriptor}`
    const stats = fstatSync(descriptor)
    // With O_PATH a symbolic link is opened itself.
    if (stats.isSymbolicLink() || readlinkSync(path) !== real) throw new PathChangedError(real)
    return {
      path,
      stats,
      verify: () => undefined,
      close: () => {
        closeSync(descriptor)
      },
    }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

/** Without descriptor paths a change is only detected, before and after the system call. */
function openByName(real: string): VerifiedPath {
  const stats = lstatSync(real)
  const verify = (): void => {
    const now = lstatSync(real, { throwIfNoEntry: false })
    const isSame = now === undefined || (now.dev === stats.dev && (now.ino === stats.ino || now.isFile()))
    if (now?.isSymbolicLink() === true || !isSame || realpathSync.native(dirname(real)) !== dirname(real))
      throw new PathChangedError(real)
  }
  verify()
  return { path: real, stats, verify, close: () => undefined }
}

/** Returns false when the directory exists already. */
function makeDirectory(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode })
    return true
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
    return false
  }
}

function withRealPath(error: unknown, used: string, real: string): unknown {
  if (!(error instanceof Error) || used === real) return error
  error.message = error.message.replaceAll(used, real)
  return error
}
