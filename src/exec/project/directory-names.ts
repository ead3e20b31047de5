import { readdirSync, statSync } from "node:fs"
import type { Stats } from "node:fs"

import { showsNextChange } from "./time-of-change.ts"

/** The directories around a project and a home that every command looks up. */
const MAX_DIRECTORIES = 128
/** Larger ones would take too much memory. */
const MAX_NAMES = 2000

export interface DirectoryNames {
  /** As they are written. */
  readonly written: readonly string[]
  /** As they are compared, see `comparable`. */
  readonly comparable: ReadonlySet<string>
}

interface RememberedDirectory {
  readonly version: string
  readonly names: DirectoryNames
}

/** Of this process: conversations look up the same directories. The one that was read longest ago makes room. */
const remembered = new Map<string, RememberedDirectory>()

/** Returns the names in a directory if they were read before and it has not changed since: much faster than reading it again. */
export function rememberedNames(directory: string): DirectoryNames | undefined {
  const known = remembered.get(directory)
  if (known === undefined) return undefined
  const facts = factsOf(directory)
  if (facts !== undefined && versionOf(facts) === known.version) return known.names
  remembered.delete(directory)
  return undefined
}

/** Undefined when there is no such directory, or it cannot be read. */
export function readDirectoryNames(directory: string): DirectoryNames | undefined {
  // Before reading: a change in between is then detected the next time.
  const facts = factsOf(directory)
  const names = facts === undefined ? undefined : read(directory)
  if (facts === undefined || names === undefined) return undefined
  if (names.written.length <= MAX_NAMES && showsNextChange(facts.ctimeMs))
    remember(directory, { version: versionOf(facts), names })
  return names
}

/** The names as they are written. Empty when there is no such directory, or it cannot be read. */
export function namesIn(directory: string): readonly string[] {
  return (rememberedNames(directory) ?? readDirectoryNames(directory))?.written ?? []
}

function remember(directory: string, entry: RememberedDirectory): void {
  remembered.delete(directory)
  remembered.set(directory, entry)
  for (const oldest of remembered.keys()) if (remembered.size > MAX_DIRECTORIES) remembered.delete(oldest)
}

function factsOf(directory: string): Stats | undefined {
  try {
    return statSync(directory, { throwIfNoEntry: false })
  } catch {
    // A part of the path is a file, or not accessible.
    return undefined
  }
}

function read(directory: string): DirectoryNames | undefined {
  try {
    const written = readdirSync(directory)
    return { written, comparable: new Set(written.map(comparable)) }
  } catch {
    // It has been removed meanwhile, or cannot be read.
    return undefined
  }
}

/** Every new, removed or renamed name changes the time of change, which no program can set. */
function versionOf({ dev, ino, ctimeMs }: Stats): string {
  return `${dev}:${ino}:${ctimeMs}`
}

/** Some file systems find a file under a name with other letters too. */
export function comparable(name: string): string {
  return (ASCII.test(name) ? name : name.normalize("NFKC")).toLowerCase()
}

const ASCII = /^\p{ASCII}*$/u
