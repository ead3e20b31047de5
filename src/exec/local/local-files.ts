import { constants } from "node:fs"
import { link, lstat, mkdir, mkdtemp, open, readdir, readlink, realpath, stat, unlink } from "node:fs/promises"
import type { FileHandle } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, isAbsolute, join, resolve } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { makeDirectories, removeCreatedDirectories } from "../../base/make-directories.ts"
import { errorCode } from "../../base/system-error.ts"
import { refuseNul } from "../refuse-nul.ts"
import type { DirectoryEntry, FileFacts, FileSystem } from "../workspace.ts"

/**
 * Returns why the file at a real path must not be accessed, or undefined when it may be. Checked again at the time of access, because a
 * concurrent command may have replaced the path that was allowed with a link.
 */
export type FileGuard = (realPath: string, access: "read" | "write") => Promise<string | undefined>

interface LocalFilesOptions {
  readonly cwd: () => string
  readonly userHome: string
  readonly guard?: FileGuard | undefined
}

/** File access on this machine. Relative paths follow `cwd`, which changes with the shell. */
export function createLocalFiles(options: LocalFilesOptions): FileSystem {
  const { guard } = options
  const resolvePath = (path: string): string => {
    if (path === "~" || path.startsWith("~/")) return join(options.userHome, path.slice(1))
    return isAbsolute(path) ? resolve(path) : resolve(options.cwd(), path)
  }
  const checkedPath = (path: string): string => {
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
    stat: async (path) => await factsOf(checkedPath(path)),
    read: async (path) => await readRegularFile(checkedPath(path), (file) => file.readFile(), guard),
    readRange: async (path, range) => await readRegularFile(checkedPath(path), (file) => readPart(file, range), guard),
    write: async (path, data) => {
      const target = checkedPath(path)
      if ((await factsOf(target))?.kind === "other") throw notRegular(target)
      const reached = guard === undefined ? target : await guardedRealPath(target, guard)
      const created = makeParents(reached)
      try {
        writeFileAtomic(reached, data, { mode: newFileMode() })
      } catch (error) {
        if (created !== undefined) removeCreatedDirectories(dirname(reached), created)
        throw error
      }
      const bytes = typeof data === "string" ? Buffer.byteLength(data) : data.byteLength
      return { bytes, path: target, createdDirectories: created !== undefined }
    },
    list: async (path) => {
      const entries = await readdir(checkedPath(path), { withFileTypes: true })
      return entries.map((entry): DirectoryEntry => ({ name: entry.name, kind: kindOf(entry) }))
    },
    remove: async (path) => {
      await unlink(checkedPath(path))
    },
    rename: async (from, to) => {
      const [source, target] = [checkedPath(from), checkedPath(to)]
      const created = makeParents(target)
      try {
        // Creating a hard link fails when the target exists; rename(2) would replace it.
        await link(source, target)
      } catch (error) {
        if (created !== undefined) removeCreatedDirectories(dirname(target), created)
        throw error
      }
      await unlink(source)
    },
    realPath: async (path) => await nearestRealPath(checkedPath(path), MAX_LINKS),
    temporaryDirectory: () => privateDirectory(join(tmpdir(), `hermes-results-${process.getuid?.() ?? "user"}`)),
  }
}

/** Before the umask is applied. */
const NEW_DIRECTORY_MODE = 0o777

/** Returns the topmost directory it created. Reports a file in the path as ENOTDIR instead of EEXIST. */
function makeParents(target: string): string | undefined {
  const parent = dirname(target)
  try {
    return makeDirectories(parent, NEW_DIRECTORY_MODE)
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error
    throw Object.assign(new Error(`ENOTDIR: not a directory, mkdir '${parent}'`, { cause: error }), { code: "ENOTDIR" })
  }
}

/** The mode that a shell would give a new file; existing files keep theirs. */
function newFileMode(): number {
  return 0o666 & ~process.umask()
}

function kindOf(entry: { isFile(): boolean; isDirectory(): boolean }): FileFacts["kind"] {
  if (entry.isFile()) return "file"
  return entry.isDirectory() ? "directory" : "other"
}

/** Opens without blocking and checks the open file, so that a path replaced by a pipe in between cannot block the reader. */
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

/** The real path of the open file itself where the system provides it. */
async function openedPath(file: FileHandle, path: string): Promise<string> {
  return process.platform === "linux" ? await readlink(`/proc/self/fd/${file.fd}`) : await realpath(path)
}

/** Returns the path without links, so that a link created after the check is not followed. */
async function guardedRealPath(target: string, guard: FileGuard): Promise<string> {
  const reached = await nearestRealPath(target, MAX_LINKS)
  const refused = await guard(reached, "write")
  if (refused !== undefined) throw new Error(refused)
  return reached
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
 * through it would arrive there.
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
    // The path does not exist or is not a link.
    return undefined
  }
}

/** Another user may have created the predictable name in the shared directory and could read our files; then a random name is used. */
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
