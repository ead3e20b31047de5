import { lstatSync, realpathSync } from "node:fs"
import { lstat, readdir } from "node:fs/promises"
import { dirname, join, sep } from "node:path"

import { isNotFound } from "../../base/system-error.ts"

/** What of a Hermes home goes to another place. Paths are relative to the home, with slashes. */
export interface SyncedPlaces {
  readonly home: string
  /** Of these only changed files come back: what is read as instructions or as a login is never made over there. */
  readonly directories: readonly string[]
  /** Directories from which new files come back too. */
  readonly caches: readonly string[]
  /** Credential files that somebody has registered by name. */
  readonly files: readonly string[]
  /** Never sent or brought back, although they are in one of the directories. */
  readonly except: readonly string[]
}

export function rootsOf({ directories, caches, files }: SyncedPlaces): readonly string[] {
  return [...directories, ...caches, ...files]
}

export interface HostFile {
  readonly path: string
  readonly size: number
  readonly modifiedMs: number
  readonly mode: number
}

/** The files as they are now. Links are left out: they may lead anywhere. */
export async function hostFiles(places: SyncedPlaces): Promise<readonly HostFile[]> {
  const found: HostFile[] = []
  const add = async (path: string): Promise<void> => {
    const facts = await ifThere(() => lstat(join(places.home, path)))
    if (facts?.isFile() !== true || !isPlainName(path)) return
    if (found.length === MAX_FILES) throw new Error(`more than ${MAX_FILES} files are to be kept the same there`)
    found.push({ path, size: facts.size, modifiedMs: Math.trunc(facts.mtimeMs), mode: facts.mode & 0o777 })
  }
  const walk = async (directory: string): Promise<void> => {
    const entries = (await ifThere(() => readdir(join(places.home, directory), { withFileTypes: true }))) ?? []
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${directory}/${entry.name}`
      if (places.except.includes(path)) continue
      if (entry.isDirectory()) await walk(path)
      else if (entry.isFile()) await add(path)
    }
  }
  for (const directory of [...places.directories, ...places.caches]) await walk(directory)
  for (const path of places.files) if (!found.some((file) => file.path === path)) await add(path)
  return found
}

const MAX_FILES = 20_000

/** How a path that another place names may come back. */
export function wayBack(path: string, places: SyncedPlaces): "new-or-changed" | "changed" | "never" {
  const segments = path.split("/")
  const strays = segments.some((segment) => segment === "" || segment === "." || segment === "..")
  if (strays || !isPlainName(path)) return "never"
  if (places.files.includes(path)) return "changed"
  if (places.except.some((place) => isBelow(path, place))) return "never"
  if (places.caches.some((directory) => isBelow(path, directory))) return "new-or-changed"
  return places.directories.some((directory) => isBelow(path, directory)) ? "changed" : "never"
}

/** Where a file that comes back goes, or undefined when a link of this machine would lead it out of the home. */
export function hostTarget(path: string, home: string): string | undefined {
  const target = join(home, path)
  if (isLink(target)) return undefined
  const real = realpathSync(nearestExisting(dirname(target)))
  const root = realpathSync(home)
  return real === root || real.startsWith(root + sep) ? target : undefined
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

function isBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`)
}

/** Lists of names travel as lines, and some programs read a backslash as the beginning of something. */
function isPlainName(path: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return !/[\u0000-\u001F\u007F\\]/.test(path)
}

async function ifThere<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look()
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
