import { readdirSync, realpathSync, statSync } from "node:fs"
import { join } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { readRegularFile, UnusableFileError } from "../../base/regular-file.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"

/** A file that was not used, and why. */
export interface FileProblem {
  /** Relative to the foreign home. */
  readonly path: string
  readonly reason: string
}

/** Reads a directory of another program. Never follows a link that leads out of it, and never blocks on a pipe or a device. */
export interface ForeignFiles {
  readonly root: string
  /** What could not be read so far. */
  readonly problems: FileProblem[]
  /** The text of a file; undefined when it is missing or unusable, which `problems` explains. */
  read(path: string, options: { readonly maxBytes: number }): string | undefined
  /** The entries of a directory in the order of their names. Empty when there is no such directory. */
  list(path: string): readonly ForeignFileEntry[]
  /** The real path of a file inside the directory; undefined when there is none. */
  locate(path: string): string | undefined
}

export interface ForeignFileEntry {
  readonly name: string
  /** Relative to the root. */
  readonly path: string
  readonly kind: "file" | "directory"
  readonly size: number
}

/** More entries are not the work of a user, and their names alone would fill the memory. */
const MAX_ENTRIES = 100_000

export function openForeignFiles(root: string): ForeignFiles {
  const problems: FileProblem[] = []
  const realRoot = realpathSync.native(root)
  const report = (path: string, reason: string): undefined => {
    problems.push({ path, reason })
    return undefined
  }
  const locate: ForeignFiles["locate"] = (path) => {
    if (path.includes("\0")) return undefined
    const full = join(root, path)
    if (!isInside(full, root)) return report(path, "its path leads out of the directory")
    try {
      const real = realpathSync.native(full)
      return isInside(real, realRoot) ? real : report(path, "it is a link that leads out of the directory")
    } catch (error) {
      return isNotFound(error) ? undefined : report(path, explainSystemError(error))
    }
  }
  return {
    root,
    problems,
    locate,
    read: (path, options) => {
      const real = locate(path)
      if (real === undefined) return undefined
      try {
        return readRegularFile(real, options).bytes.toString("utf8")
      } catch (error) {
        if (isNotFound(error)) return undefined
        return report(path, error instanceof UnusableFileError ? error.message : explainSystemError(error))
      }
    },
    list: (path) => {
      const directory = locate(path)
      if (directory === undefined) return []
      let names: readonly string[]
      try {
        names = readdirSync(directory)
      } catch (error) {
        if (!isNotFound(error)) report(path, explainSystemError(error))
        return []
      }
      if (names.length > MAX_ENTRIES) report(path, `it has ${names.length} entries; the first ${MAX_ENTRIES} are read`)
      return names
        .toSorted()
        .slice(0, MAX_ENTRIES)
        .flatMap((name): readonly ForeignFileEntry[] => {
          const entryPath = path === "" ? name : `${path}/${name}`
          const real = locate(entryPath)
          const stats = real === undefined ? undefined : statSync(real, { throwIfNoEntry: false })
          if (stats === undefined) return []
          if (stats.isDirectory()) return [{ name, path: entryPath, kind: "directory", size: 0 }]
          return stats.isFile() ? [{ name, path: entryPath, kind: "file", size: stats.size }] : []
        })
    },
  }
}
