import { lstatSync, realpathSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { createNameLookup } from "../project/name-lookup.ts"

export interface ExistingPath {
  readonly path: string
  readonly isDirectory: boolean
}

export type Resolver = (path: string) => ExistingPath | undefined

/** Resolves links. Looks up each directory only once: this runs before every command, for many paths. */
export function createResolver(): Resolver {
  const mayExist = createNameLookup()
  const directories = new Map<string, string>()
  const directoryOf = (path: string): string => {
    const known = directories.get(dirname(path))
    if (known !== undefined) return known
    const real = realpathSync.native(dirname(path))
    directories.set(dirname(path), real)
    return real
  }
  return (path) => {
    if (!mayExist(path)) return undefined
    try {
      // Most paths do not exist: throwing for each of them would take most of the time.
      const facts = lstatSync(path, { throwIfNoEntry: false })
      if (facts === undefined) return undefined
      if (!facts.isSymbolicLink())
        return { path: join(directoryOf(path), basename(path)), isDirectory: facts.isDirectory() }
      return { path: realpathSync.native(path), isDirectory: statSync(path).isDirectory() }
    } catch {
      // Not accessible, or a dangling link: nothing to hide and nothing to write.
      return undefined
    }
  }
}

/** Returns the paths that exist, outer before inner, with links resolved because a mount point cannot be a link. */
export function existing(paths: readonly string[], resolve: Resolver): readonly ExistingPath[] {
  const found = new Map<string, ExistingPath>()
  for (const path of new Set(paths)) {
    const real = resolve(path)
    if (real !== undefined) found.set(real.path, real)
  }
  return [...found.values()].toSorted((one, other) => one.path.length - other.path.length)
}

/** The writable paths that exist, except those that are reached through a link: a command may have created it to write to its target. */
export function existingWritable(paths: readonly string[], resolve: Resolver): readonly ExistingPath[] {
  return existing(paths, resolve).filter(({ path }) => path !== "/" && paths.includes(path))
}

export function isBelow(path: string, directory: string): boolean {
  return path[directory.length] === "/" && path.startsWith(directory)
}
