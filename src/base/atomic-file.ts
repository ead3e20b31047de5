import { randomHex } from "./random-and-hash.ts"
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { errorCode, isNotFound } from "./system-error.ts"
import { takeCodePoints } from "./text.ts"

export interface AtomicWriteOptions {
  /** Permission bits of a file that does not exist yet (default 0600); an existing file keeps its own. */
  readonly mode?: number | undefined
  /** Fails with ELOOP when the path is a symbolic link, instead of replacing the file it points to. */
  readonly refuseLink?: boolean
  /** Renames the finished file to the target; a test passes one that fails as it does on a bind mount. */
  readonly rename?: (from: string, to: string) => void
}

/**
 * Replaces a file so that readers, even after a crash at any instant, see either the old or the new content. A symbolic link
 * stays a link: the file it points to is replaced. Synchronous, so that no signal handler runs halfway. Throws the system error;
 * the old file is then unchanged and no temporary file remains.
 */
export function writeFileAtomic(path: string, data: string | Uint8Array, options: AtomicWriteOptions = {}): void {
  const target = options.refuseLink === true ? notLink(path) : linkTarget(path)
  const existing = existingFile(target)
  // Only part of the name, because the target may already have the longest name that the file system allows.
  const name = takeCodePoints(basename(target), NAME_CODE_POINTS)
  const temporary = join(dirname(target), `.${name}.${process.pid}.${randomHex(6)}.tmp`)
  try {
    writeTemporary(temporary, data, { existing, mode: options.mode ?? 0o600 })
    renameTo(temporary, target, { data, rename: options.rename ?? renameSync })
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw cause
  }
  syncDirectory(dirname(target))
}

/** At up to four bytes each, the whole temporary name stays below 255 bytes. */
const NAME_CODE_POINTS = 40

function notLink(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path
  throw Object.assign(new Error(`cannot write ${path}: it is a symbolic link`), { code: "ELOOP" })
}

/** Follows symbolic links to the end, even when the last one points to a file that does not exist yet. */
function linkTarget(path: string): string {
  let current = resolve(path)
  for (let hops = 0; hops < 40; hops += 1) {
    if (lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return current
    try {
      return realpathSync(current)
    } catch (cause) {
      if (!isNotFound(cause)) throw cause
      current = resolve(dirname(current), readlinkSync(current))
    }
  }
  return realpathSync(current)
}

function existingFile(target: string): Stats | undefined {
  const stats = statSync(target, { throwIfNoEntry: false })
  if (stats?.isDirectory() === true) {
    throw Object.assign(new Error(`cannot write ${target}: it is a directory`), { code: "EISDIR" })
  }
  return stats
}

/** Sets mode and owner before the rename, so that a crash right after it cannot leave them wrong. */
function writeTemporary(
  temporary: string,
  data: string | Uint8Array,
  { existing, mode }: { existing: Stats | undefined; mode: number },
): void {
  const descriptor = openSync(temporary, "wx", 0o600)
  try {
    writeFileSync(descriptor, data)
    if (existing !== undefined) keepOwner(descriptor, existing)
    const wanted = existing === undefined ? mode : existing.mode & 0o7777
    if (wanted !== 0o600) fchmodSync(descriptor, wanted)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** A file rewritten under sudo keeps its owner. Without the permission to change owners it belongs to the writing user. */
function keepOwner(descriptor: number, existing: Stats): void {
  if (process.getuid?.() === existing.uid && process.getgid?.() === existing.gid) return
  try {
    fchownSync(descriptor, existing.uid, existing.gid)
  } catch (cause) {
    if (errorCode(cause) !== "EPERM" && errorCode(cause) !== "EINVAL") throw cause
  }
}

function renameTo(
  temporary: string,
  target: string,
  { data, rename }: { data: string | Uint8Array; rename: (from: string, to: string) => void },
): void {
  try {
    rename(temporary, target)
  } catch (cause) {
    const code = errorCode(cause)
    if (code !== "EXDEV" && code !== "EBUSY") throw cause
    // A bind-mounted file cannot be replaced by a rename, only overwritten.
    overwrite(target, data)
    rmSync(temporary, { force: true })
  }
}

/** Links were resolved before; one that appeared since is not followed. */
const OVERWRITE = constants.O_WRONLY | constants.O_TRUNC | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0)

function overwrite(target: string, data: string | Uint8Array): void {
  const descriptor = openSync(target, OVERWRITE, 0o600)
  try {
    writeFileSync(descriptor, data)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes the rename durable. Best effort: some file systems refuse, and the content is safe either way. */
function syncDirectory(directory: string): void {
  let descriptor: number
  try {
    descriptor = openSync(directory, "r")
  } catch {
    return
  }
  try {
    fsyncSync(descriptor)
  } catch {
    return
  } finally {
    closeSync(descriptor)
  }
}
