import { lstatSync, realpathSync } from "node:fs"
import { lstat, readdir } from "node:fs/promises"
import { dirname, join, relative } from "node:path"

import { isNotFound } from "../../base/system-error.ts"

/** The parts of a Hermes home that are kept in sync with a remote workspace. Paths are relative to the home and use slashes. */
export interface SyncedPaths {
  readonly home: string
  /** Uploaded, never downloaded: another machine must not write what Hermes reads as instructions. */
  readonly directories: readonly string[]
  /** Directories from which changed and new files are downloaded. */
  readonly caches: readonly string[]
  /** Credential files that the user has configured by name. They are downloaded if a program renewed them. */
  readonly files: readonly string[]
  /** Credential files that loaded skills declare. Uploaded, never downloaded, and removed remotely when the workspace closes. */
  readonly provided: readonly string[]
  /** Never uploaded, even inside one of the directories, unless `files` lists it. */
  readonly except: readonly string[]
  /** Never downloaded, even if `files` lists it. */
  readonly neverDownloaded: readonly string[]
}

export function syncedRoots({ directories, caches, files, provided }: SyncedPaths): readonly string[] {
  return [...directories, ...caches, ...files, ...provided]
}

export interface LocalFile {
  readonly path: string
  readonly size: number
  readonly modifiedMs: number
  readonly mode: number
}

/** Returns the current files. Skips symbolic links, which may point anywhere. */
export async function listLocalFiles(paths: SyncedPaths): Promise<readonly LocalFile[]> {
  const found: LocalFile[] = []
  const add = async (path: string): Promise<void> => {
    const facts = await ifExists(() => lstat(join(paths.home, path)))
    if (facts?.isFile() !== true || !isPlainName(path)) return
    if (found.length === MAX_FILES) throw new Error(`there are more than ${MAX_FILES} files to sync`)
    found.push({ path, size: facts.size, modifiedMs: Math.trunc(facts.mtimeMs), mode: facts.mode & 0o777 })
  }
  const walk = async (directory: string): Promise<void> => {
    const entries = (await ifExists(() => readdir(join(paths.home, directory), { withFileTypes: true }))) ?? []
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${directory}/${entry.name}`
      if (paths.except.includes(path)) continue
      if (entry.isDirectory()) await walk(path)
      else if (entry.isFile()) await add(path)
    }
  }
  for (const directory of [...paths.directories, ...paths.caches]) await walk(directory)
  for (const path of [...paths.files, ...paths.provided]) if (!found.some((file) => file.path === path)) await add(path)
  return found
}

export const MAX_FILES = 20_000

/** Whether the current settings keep a copy of this path in the remote workspace. */
export function isSynced(path: string, { directories, caches, files, provided }: SyncedPaths): boolean {
  return (
    [...files, ...provided].includes(path) || [...directories, ...caches].some((directory) => isBelow(path, directory))
  )
}

/** Which changes to a path from the remote workspace may be downloaded. */
export function downloadRule(path: string, paths: SyncedPaths): "new-or-changed" | "changed" | "never" {
  const segments = path.split("/")
  const escapes = segments.some((segment) => segment === "" || segment === "." || segment === "..")
  if (escapes || !isPlainName(path)) return "never"
  if (paths.neverDownloaded.some((excluded) => isBelow(path, excluded))) return "never"
  if (paths.files.includes(path)) return "changed"
  if (paths.except.some((excluded) => isBelow(path, excluded))) return "never"
  return paths.caches.some((directory) => path.startsWith(`${directory}/`)) ? "new-or-changed" : "never"
}

/** The paths that can have something to download. */
export function downloadedRoots({ caches, files }: SyncedPaths): readonly string[] {
  return [...caches, ...files]
}

/** Returns the local path for a downloaded file; undefined when a link below the home would redirect it. */
export function downloadPath(path: string, home: string): string | undefined {
  const target = join(home, path)
  if (isLink(target)) return undefined
  const parent = nearestExisting(dirname(target))
  return realpathSync(parent) === join(realpathSync(home), relative(home, parent)) ? target : undefined
}

function nearestExisting(path: string): string {
  try {
    lstatSync(path)
    return path
  } catch (error) {
    if (!isNotFound(error)) throw error
    return nearestExisting(dirname(path))
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}

/** Lists of names are transferred as lines, and some programs treat a backslash as an escape. */
function isPlainName(path: string): boolean {
  // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
  return !/[\u0000-\u001F\u007F\\]/.test(path)
}

async function ifExists<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
