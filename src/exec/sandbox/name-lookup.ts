import { readdirSync, statSync } from "node:fs"
import { basename, dirname } from "node:path"

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
  /** The names in a directory with an ending. */
  endingWith(directory: string, ending: string): readonly string[]
}

export function createNameLookup(): NameLookup {
  const directories = new Map<string, LookedUpDirectory>()
  const knownOf = (directory: string): LookedUpDirectory => {
    const known = directories.get(directory) ?? { lookups: 0, bytes: 0 }
    directories.set(directory, known)
    return known
  }
  const mayExist = (path: string): boolean => {
    const directory = dirname(path)
    const known = knownOf(directory)
    known.lookups += 1
    if (known.lookups === LOOKUPS_BEFORE_CHECK) {
      known.bytes = sizeOf(directory)
      if (known.bytes === undefined) known.names ??= new Map()
    }
    if (known.lookups === LOOKUPS_BEFORE_READING && (known.bytes ?? 0) <= MAX_DIRECTORY_BYTES) {
      known.names ??= namesIn(directory)
    }
    return known.names === undefined || known.names.has(comparable(basename(path)))
  }
  const endingWith = (directory: string, ending: string): readonly string[] => {
    const known = knownOf(directory)
    known.names ??= namesIn(directory)
    return [...(known.names?.values() ?? [])].filter((name) => comparable(name).endsWith(ending))
  }
  return Object.assign(mayExist, { endingWith })
}

interface LookedUpDirectory {
  lookups: number
  /** Undefined when it does not exist. */
  bytes: number | undefined
  /** As they are written, by what they are compared with. Undefined while they are not known. */
  names?: ReadonlyMap<string, string> | undefined
}

function sizeOf(directory: string): number | undefined {
  try {
    return statSync(directory, { throwIfNoEntry: false })?.size
  } catch {
    // A part of the path is a file, or not accessible: each look-up finds out for itself.
    return Number.POSITIVE_INFINITY
  }
}

function namesIn(directory: string): ReadonlyMap<string, string> | undefined {
  try {
    return new Map(readdirSync(directory).map((name) => [comparable(name), name]))
  } catch {
    // It has been removed meanwhile, or cannot be read.
    return undefined
  }
}

/** Some file systems find a file under a name with other letters too. */
function comparable(name: string): string {
  return (ASCII.test(name) ? name : name.normalize("NFKC")).toLowerCase()
}

const ASCII = /^\p{ASCII}*$/u
