import { constants, linkSync, lstatSync, readdirSync, readlinkSync, realpathSync, statSync, unlinkSync } from "node:fs"
import { open } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { removeCreatedDirectories } from "../../base/make-directories.ts"
import { errorCode } from "../../base/system-error.ts"
import { refuseNul } from "../refuse-nul.ts"
import type { DirectoryEntry, FileFacts, FileSystem, JudgedPath } from "../workspace.ts"
import { inVerified, openVerified, openVerifiedDirectory, PathChangedError } from "./verified-path.ts"
import type { VerifiedPath } from "./verified-path.ts"

/**
 * Returns why the file at a real path must not be accessed, or undefined when it may be. Every access passes it, also those that no
 * tool call declared.
 */
export type FileGuard = (realPath: string, access: "read" | "write") => Promise<string | undefined>

interface LocalFilesOptions {
  readonly cwd: () => string
  readonly userHome: string
  readonly guard?: FileGuard | undefined
}

/**
 * File access on this machine. Relative paths follow `cwd`, which changes with the shell. Links in a path are resolved once; the guard
 * judges the result, and the access happens there, even when another program replaces a part of the path in between.
 */
export function createLocalFiles(options: LocalFilesOptions): FileSystem {
  return createFiles(options)
}

function createFiles(options: LocalFilesOptions, judged?: JudgedPaths): FileSystem {
  const { guard } = options
  const resolvePath = (path: string): string => {
    const known = judged?.literalOf(path)
    if (known !== undefined) return known
    if (path === "~" || path.startsWith("~/")) return join(options.userHome, path.slice(1))
    return isAbsolute(path) ? resolve(path) : resolve(options.cwd(), path)
  }
  const checkedPath = (path: string): string => {
    refuseNul(path)
    return resolvePath(path)
  }
  const realPath = async (path: string): Promise<string> => {
    const literal = checkedPath(path)
    return judged?.get(literal)?.real ?? nearestRealPath(literal, MAX_LINKS)
  }
  const allowed = async (real: string, access: "read" | "write"): Promise<string> => {
    const refused = await guard?.(real, access)
    if (refused !== undefined) throw new Error(refused)
    return real
  }
  /** A call that was judged may change only what was judged. */
  const writable = (path: string): string => {
    const literal = checkedPath(path)
    if (judged !== undefined && judged.get(literal) === undefined)
      throw new Error(`${literal} is not one of the paths that this call declared`)
    return literal
  }
  /** The path of the file or link itself, which a removal or a move acts on. */
  const entryPath = async (literal: string): Promise<string> => {
    const entry = judged?.get(literal)?.entry ?? join(nearestRealPath(dirname(literal), MAX_LINKS), basename(literal))
    return await allowed(entry, "write")
  }
  return {
    resolve: resolvePath,
    stat: async (path) => factsOf(await realPath(path)),
    read: async (path) => await readRegularFile(await allowed(await realPath(path), "read"), (file) => file.readFile()),
    readRange: async (path, range) =>
      await readRegularFile(await allowed(await realPath(path), "read"), (file) => readPart(file, range)),
    write: async (path, data) => {
      const target = writable(path)
      const created = writeVerified(await allowed(await realPath(target), "write"), data)
      const bytes = typeof data === "string" ? Buffer.byteLength(data) : data.byteLength
      return { bytes, path: target, createdDirectories: created }
    },
    list: async (path) => {
      const real = await allowed(await realPath(path), "read")
      const entries = closing(openVerified(real, "directory"), (directory) =>
        inVerified(directory, real, (opened) => readdirSync(opened, { withFileTypes: true })),
      )
      return entries.map((entry): DirectoryEntry => ({ name: entry.name, kind: kindOf(entry) }))
    },
    remove: async (path) => {
      const literal = writable(path)
      const entry = await entryPath(literal)
      closing(openVerified(dirname(entry), "directory"), (parent) => {
        inVerified(parent, dirname(entry), (opened) => {
          unlinkSync(join(opened, basename(entry)))
        })
      })
      judged?.removed(literal)
    },
    rename: async (from, to) => {
      const [source, target] = [writable(from), writable(to)]
      const [sourceEntry, targetEntry] = [await entryPath(source), await entryPath(target)]
      moveVerified(sourceEntry, targetEntry, judged?.get(source)?.real === sourceEntry)
      judged?.removed(source)
      judged?.removed(target)
    },
    realPath,
    withJudgedPaths: (paths) => createFiles(options, createJudgedPaths(paths)),
  }
}

/** The paths of one call, by their absolute form. */
interface JudgedPaths {
  literalOf(given: string): string | undefined
  get(literal: string): Pick<JudgedPath, "real" | "entry"> | undefined
  /** A link that the call itself removed no longer counts. */
  removed(literal: string): void
}

function createJudgedPaths(paths: readonly JudgedPath[]): JudgedPaths {
  const literals = new Map(paths.map(({ given, literal }) => [given, literal]))
  const known = new Map(paths.map(({ literal, real, entry }) => [literal, { real, entry }]))
  return {
    literalOf: (given) => literals.get(given),
    get: (literal) => known.get(literal),
    removed: (literal) => {
      const path = known.get(literal)
      if (path !== undefined) known.set(literal, { real: path.entry, entry: path.entry })
    },
  }
}

function closing<T>(verified: VerifiedPath, work: (verified: VerifiedPath) => T): T {
  try {
    return work(verified)
  } finally {
    verified.close()
  }
}

function factsOf(real: string): FileFacts | undefined {
  try {
    const { stats } = closing(openVerified(real), (found) => found)
    return { kind: kindOf(stats), size: stats.size, modifiedMs: stats.mtimeMs, mode: stats.mode & 0o7777 }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Opens without blocking, after checking that it is no pipe or device: those could block the reader, or act when they are opened. */
async function readRegularFile(real: string, read: (file: FileHandle) => Promise<Uint8Array>): Promise<Uint8Array> {
  const found = openVerified(real)
  try {
    if (!found.stats.isFile() && !found.stats.isDirectory()) throw notRegular(real)
    const file = await open(found.path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) =>
      inVerified(found, real, () => {
        throw error
      }),
    )
    try {
      const now = await file.stat()
      if (now.ino !== found.stats.ino || now.dev !== found.stats.dev) throw new PathChangedError(real)
      return await read(file)
    } finally {
      await file.close()
    }
  } finally {
    found.close()
  }
}

/** Replaces the file at a real path. Returns whether directories were created for it. */
function writeVerified(real: string, data: string | Uint8Array): boolean {
  const parent = dirname(real)
  const { directory, created } = openVerifiedDirectory(parent, NEW_DIRECTORY_MODE)
  try {
    closing(directory, (opened) => {
      inVerified(opened, parent, (path) => {
        const target = join(path, basename(real))
        const existing = lstatSync(target, { throwIfNoEntry: false })
        if (existing?.isSymbolicLink() === true) throw new PathChangedError(real)
        if (existing !== undefined && kindOf(existing) === "other") throw notRegular(real)
        writeFileAtomic(target, data, { mode: newFileMode(), refuseLink: true })
      })
    })
  } catch (error) {
    if (created !== undefined) removeCreatedDirectories(parent, created)
    throw error
  }
  return created !== undefined
}

function moveVerified(source: string, target: string, isFile: boolean): void {
  closing(openVerified(dirname(source), "directory"), (from) => {
    const { directory, created } = openVerifiedDirectory(dirname(target), NEW_DIRECTORY_MODE)
    try {
      closing(directory, (to) => {
        const moved = join(from.path, basename(source))
        if (isFile && lstatSync(moved, { throwIfNoEntry: false })?.isSymbolicLink() === true)
          throw new PathChangedError(source)
        inVerified(from, dirname(source), () => {
          inVerified(to, dirname(target), () => {
            // Creating a hard link fails when the target exists; rename(2) would replace it.
            linkSync(moved, join(to.path, basename(target)))
            unlinkSync(moved)
          })
        })
      })
    } catch (error) {
      if (created !== undefined) removeCreatedDirectories(dirname(target), created)
      throw error
    }
  })
}

/** Before the umask is applied. */
const NEW_DIRECTORY_MODE = 0o777

/** The mode that a shell would give a new file; existing files keep theirs. */
function newFileMode(): number {
  return 0o666 & ~process.umask()
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): FileFacts["kind"] {
  if (entry.isFile()) return "file"
  return entry.isDirectory() ? "directory" : "other"
}

/** Reads in a loop because a single read may return fewer bytes than requested. */
async function readPart(
  file: FileHandle,
  { start, length }: { readonly start: number; readonly length: number },
): Promise<Uint8Array> {
  const part = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(part, filled, length - filled, start + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return part.subarray(0, filled)
}

function notRegular(path: string): Error {
  return new Error(`${path} is a pipe, a socket or a device, not a regular file`)
}

/** The limit of the Linux kernel. */
const MAX_LINKS = 40

/**
 * Resolves a path that does not exist yet through its nearest existing ancestor. A dangling link resolves to its target, because a write
 * through it would arrive there. Synchronous: a lookup takes microseconds, a job of the thread pool a tenth of a millisecond, and every
 * command needs some.
 */
function nearestRealPath(path: string, linksLeft: number): string {
  const parent = dirname(path)
  // An exception costs more than the lookup, and most words of a command are not files.
  const isMissingFile = parent !== path && statSync(path, { throwIfNoEntry: false }) === undefined
  try {
    if (!isMissingFile) return realpathSync.native(path)
  } catch (error) {
    if (!isMissing(error) || parent === path) throw error
  }
  const target = linkTarget(path)
  if (target === undefined) return join(nearestRealPath(parent, linksLeft), basename(path))
  if (linksLeft === 0) throw new Error(`${path}: too many symbolic links`)
  return nearestRealPath(resolve(realpathSync.native(parent), target), linksLeft - 1)
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(path) : undefined
  } catch {
    // Removed or replaced in between.
    return undefined
  }
}

function isMissing(error: unknown): boolean {
  const code = errorCode(error)
  return code === "ENOENT" || code === "ENOTDIR"
}
