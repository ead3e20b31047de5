import { statSync } from "node:fs"
import { basename, dirname } from "node:path"

import { comparable, readDirectoryNames, rememberedNames } from "./directory-names.ts"
import type { DirectoryNames } from "./directory-names.ts"

/** So many look-ups take as long as finding out that the directory does not exist, and as reading a small one. */
const LOOKUPS_BEFORE_CHECK = 2
const LOOKUPS_BEFORE_READING = 8
/** On most file systems, some 200 names. */
const MAX_DIRECTORY_BYTES = 8 * 1024

/**
 * False when there is certainly no such file. Reads a directory once instead of looking up many names in it, most of which do not exist:
 * before and after each command in the sandbox there are hundreds. Use it for one such moment only, and check the file itself where this
 * returns true.
 */
export interface NameLookup {
  (path: string): boolean
  /** The names in a directory as they are compared. Undefined when there are many, or they cannot be read. */
  namesIn(directory: string): ReadonlySet<string> | undefined
  /** The names in a directory with an ending. */
  endingWith(directory: string, ending: string): readonly string[]
}

export function createNameLookup(): NameLookup {
  const directories = new Map<string, LookedUpDirectory>()
  const knownOf = (directory: string): LookedUpDirectory => {
    const known = directories.get(directory)
    if (known !== undefined) return known
    const added: LookedUpDirectory = { lookups: 0, bytes: 0, names: rememberedNames(directory) }
    directories.set(directory, added)
    return added
  }
  const mayExist = (path: string): boolean => {
    const directory = dirname(path)
    const known = knownOf(directory)
    known.lookups += 1
    if (known.names === undefined && known.lookups === LOOKUPS_BEFORE_CHECK) measure(directory, known)
    if (known.names === undefined && known.lookups === LOOKUPS_BEFORE_READING) readSmall(directory, known)
    return known.names === undefined || known.names.comparable.has(comparable(basename(path)))
  }
  const namesIn = (directory: string): ReadonlySet<string> | undefined => {
    const known = knownOf(directory)
    if (known.names === undefined && known.lookups < LOOKUPS_BEFORE_READING) {
      known.lookups = LOOKUPS_BEFORE_READING
      measure(directory, known)
      readSmall(directory, known)
    }
    return known.names?.comparable
  }
  const endingWith = (directory: string, ending: string): readonly string[] => {
    const known = knownOf(directory)
    known.names ??= readDirectoryNames(directory)
    return known.names?.written.filter((name) => comparable(name).endsWith(ending)) ?? []
  }
  return Object.assign(mayExist, { namesIn, endingWith })
}

interface LookedUpDirectory {
  lookups: number
  /** Undefined when it does not exist. */
  bytes: number | undefined
  /** Undefined while they are not known. */
  names: DirectoryNames | undefined
}

function measure(directory: string, known: LookedUpDirectory): void {
  known.bytes = sizeOf(directory)
  if (known.bytes === undefined) known.names ??= NO_NAMES
}

function readSmall(directory: string, known: LookedUpDirectory): void {
  if ((known.bytes ?? 0) <= MAX_DIRECTORY_BYTES) known.names ??= readDirectoryNames(directory)
}

function sizeOf(directory: string): number | undefined {
  try {
    return statSync(directory, { throwIfNoEntry: false })?.size
  } catch {
    // A part of the path is a file, or not accessible: each look-up finds out for itself.
    return Number.POSITIVE_INFINITY
  }
}

const NO_NAMES: DirectoryNames = { written: [], comparable: new Set() }
