import { constants } from "node:fs"
import { link, lstat, mkdir, mkdtemp, open, readdir, readlink, realpath, stat, unlink } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { makeDirectories, removeMade } from "../../base/make-directories.ts"
import { errorCode } from "../../base/system-error.ts"
import { refuseNul } from "../refuse-nul.ts"
import type { DirectoryEntry, FileFacts, FileSystem } from "../workspace.ts"

/**
 * Why a file may not be read or written, given where it really is; undefined where it may. What was allowed by name may be another file a
 * moment later: a command that runs beside can put a link in its place.
 */
export type FileGuard = (realPath: string, access: "read" | "write") => Promise<string | undefined>

interface LocalFilesOptions {
  readonly cwd: () => string
  readonly userHome: string
  readonly guard?: FileGuard | undefined
}

/** The files of this machine. `cwd` is asked at each call because it follows the shell. */
export function createLocalFiles(options: LocalFilesOptions): FileSystem {
  const { guard } = options
  const resolvePath = (path: string): string => {
    if (path === "~" || path.startsWith("~/")) return join(options.userHome, path.slice(1))
    return isAbsolute(path) ? resolve(path) : resolve(options.cwd(), path)
  }
  const placeOf = (path: string): string => {
    refuseNul(path)
    return resolvePath(path)
  }
  const factsOf = async (path: string): Promise<FileFacts | undefined> => {
    try {
      const found = await stat(path)
      return { kind: kindOf(found), size: found.size, modifiedMs: found.mtimeMs, mode: found.mode & 0o7777 }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }
  return {
    resolve: resolvePath,
    stat: async (path) => await factsOf(placeOf(path)),
    read: async (path) => await readRegularFile(placeOf(path), (file) => file.readFile(), guard),
    readRange: async (path, range) => await readRegularFile(placeOf(path), (file) => readPart(file, range), guard),
    write: async (path, data) => {
      const target = placeOf(path)
      if ((await factsOf(target))?.kind === "other") throw notRegular(target)
      const reached = guard === undefined ? target : await allowedPlace(target, guard)
      const created = makeParents(reached)
      try {
        writeFileAtomic(reached, data, { mode: newFileMode() })
      } catch (error) {
        if (created !== undefined) removeMade(dirname(reached), created)
        throw error
      }
      const bytes = typeof data === "string" ? Buffer.byteLength(data) : data.byteLength
      return { bytes, path: target, createdDirectories: created !== undefined }
    },
    list: async (path) => {
      const entries = await readdir(placeOf(path), { withFileTypes: true })
      return entries.map((entry): DirectoryEntry => ({ name: entry.name, kind: kindOf(entry) }))
    },
    remove: async (path) => {
      await unlink(placeOf(path))
    },
    rename: async (from, to) => {
      const [source, target] = [placeOf(from), placeOf(to)]
      const created = makeParents(target)
      try {
        // A hard link refuses to replace what is there, which no rename of the system does.
        await link(source, target)
      } catch (error) {
        if (created !== undefined) removeMade(dirname(target), created)
        throw error
      }
      await unlink(source)
    },
    realPath: async (path) => await nearestRealPath(placeOf(path), MAX_LINKS),
    temporaryDirectory: () => privateDirectory(join(tmpdir(), `hermes-results-${process.getuid?.() ?? "user"}`)),
  }
}

/** The umask takes its part of it. */
const NEW_FOLDER_MODE = 0o777

/** A file where a directory is needed is told as that, not as something that exists already. */
function makeParents(target: string): string | undefined {
  const parent = dirname(target)
  try {
    return makeDirectories(parent, NEW_FOLDER_MODE)
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
    throw Object.assign(new Error(`ENOTDIR: not a directory, mkdir '${parent}'`, { cause: error }), { code: "ENOTDIR" })
  }
}

/** What a shell would give a new file; existing ones keep their bits. */
function newFileMode(): number {
  return 0o666 & ~process.umask()
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): FileFacts["kind"] {
  if (entry.isFile()) return "file"
  return entry.isDirectory() ? "directory" : "other"
}

/** Opened without blocking and looked at afterwards, so that no swap in between makes the reader hang on a pipe. */
async function readRegularFile(
  path: string,
  read: (file: FileHandle) => Promise<Uint8Array>,
  guard: FileGuard | undefined,
): Promise<Uint8Array> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile() && !found.isDirectory()) throw notRegular(path)
    const refused = await guard?.(await openedPath(file, path), "read")
    if (refused !== undefined) throw new Error(refused)
    return await read(file)
  } finally {
    await file.close()
  }
}

/** Of the very file that is open, where the system tells it. */
async function openedPath(file: FileHandle, path: string): Promise<string> {
  return process.platform === "linux" ? await readlink(`/proc/self/fd/${file.fd}`) : await realpath(path)
}

/** Without links, so that one that comes in between is not followed. */
async function allowedPlace(target: string, guard: FileGuard): Promise<string> {
  const reached = await nearestRealPath(target, MAX_LINKS)
  const refused = await guard(reached, "write")
  if (refused !== undefined) throw new Error(refused)
  return reached
}

/** One read may give less than was asked for although the file goes on. */
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

/** As many as the kernel follows. */
const MAX_LINKS = 40

/**
 * A path that does not exist yet belongs where its nearest existing ancestor really is. A link that points at nothing counts as
 * its target: that is where a write through it would arrive.
 */
async function nearestRealPath(path: string, linksLeft: number): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const parent = dirname(path)
    if (!isMissing(error) || parent === path || linksLeft === 0) throw error
    const target = await linkTarget(path)
    if (target !== undefined) return await nearestRealPath(resolve(await realpath(parent), target), linksLeft - 1)
    return join(await nearestRealPath(parent, linksLeft), basename(path))
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return await readlink(path)
  } catch {
    // Nothing there, or no link: the path itself is meant.
    return undefined
  }
}

/** A known name in a shared directory may have been taken by somebody else, who could then read and change what we write. */
async function privateDirectory(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const found = await lstat(path)
  const ours = found.isDirectory() && (process.getuid === undefined || found.uid === process.getuid())
  return ours && (found.mode & 0o077) === 0 ? path : await mkdtemp(`${path}-`)
}

function isMissing(error: unknown): boolean {
  const code = errorCode(error)
  return code === "ENOENT" || code === "ENOTDIR"
}
