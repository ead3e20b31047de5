import { chmodSync, lstatSync, realpathSync, renameSync, symlinkSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { errorCode } from "../../base/system-error.ts"
import { openVerified } from "../local/verified-path.ts"
import { factsOf } from "./file-facts.ts"
import { isClosedSince, openDirectory } from "./closed-directories.ts"

/**
 * Renames and writes of the checks after commands. They have effect only in the directories that commands can write: a command may have
 * created a link, or a git file, that leads elsewhere. What a command could not write it did not create either.
 */
export interface Writable {
  /** With links resolved. */
  readonly directories: readonly string[]
  /** In them, what commands cannot see: the Hermes home. A directory inside it that is one of `directories` is an exception from this. */
  readonly except: readonly string[]
}

/** Whether a path is in one of the directories when links above it are resolved. */
export function isInReach(path: string, writable: Writable): boolean {
  return realParent(path, writable) !== undefined
}

/** Renames a file, a link or a directory. Returns the new name; undefined when it is out of reach. Throws the system error. */
export function renameAside(path: string, writable: Writable): string | undefined {
  return inParent(path, writable, (entry) => {
    const aside = unusedName(`${entry}.from-sandbox`)
    renameSync(entry, aside)
    return basename(aside)
  })
}

/**
 * Renames the entry with these bytes, in the directory of a path, to the path or a similar one. Returns the new name; undefined when it is out
 * of reach. Throws the system error.
 */
export function renameBytes(path: string, bytes: Buffer, writable: Writable): string | undefined {
  return inParent(path, writable, (entry) => {
    const target = unusedName(entry)
    renameSync(Buffer.concat([Buffer.from(`${dirname(entry)}/`), bytes]), target)
    return basename(target)
  })
}

/** Creates a link. */
export function restoreLink(path: string, target: string, writable: Writable): void {
  inParent(path, writable, (entry) => {
    symlinkSync(target, entry)
  })
}

/** Replaces the text of a file. A link that took its name is renamed. Returns false when it is out of reach. */
export function replaceFile(
  path: string,
  text: string | Uint8Array,
  { writable, mode }: { readonly writable: Writable; readonly mode?: number },
): boolean {
  const replaced = inParent(path, writable, (entry) => {
    if (lstatSync(entry, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      renameSync(entry, unusedName(`${entry}.from-sandbox`))
    writeFileAtomic(entry, text, { refuseLink: true, mode })
    return true
  })
  return replaced === true
}

const MAX_NAME_BYTES = 255
const MAX_NUMBER = 20

/** The path, or one with a number or a shorter name. */
export function unusedName(path: string, number = 1): string {
  const ending = `${OWN_ENDING.exec(path)?.[0] ?? ""}${endingFor(number)}`
  const name = basename(path).replace(OWN_ENDING, "")
  const candidate = join(dirname(path), `${takeBytes(name, MAX_NAME_BYTES - ending.length)}${ending}`)
  return lstatSync(candidate, { throwIfNoEntry: false }) === undefined ? candidate : unusedName(path, number + 1)
}

const OWN_ENDING = /\.from-sandbox$/u

/** Whether a name is one that `renameAside` gives. */
export function isRenamedAside(name: string): boolean {
  return /\.from-sandbox(?:-[\da-f]+)?$/u.test(name)
}

/** A command may have taken all numbers. */
function endingFor(number: number): string {
  if (number === 1) return ""
  return number <= MAX_NUMBER ? `-${number}` : `-${randomHex(8)}`
}

function takeBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text
  let taken = ""
  let bytes = 0
  for (const character of text) {
    bytes += Buffer.byteLength(character)
    if (bytes > maxBytes) break
    taken += character
  }
  return taken
}

/** The outermost link among the directories above a path. */
export function linkAbove(path: string, writable: Writable): string | undefined {
  return directoriesAbove(path, writable).find((directory) => factsOf(directory)?.isSymbolicLink() === true)
}

/**
 * Makes the directories above a path accessible to their owner. A command may have taken the permissions away, so that a check does not
 * see what is in them.
 */
export function openDirectoriesAbove(
  path: string,
  { writable, sinceMs }: { readonly writable: Writable; readonly sinceMs: number },
): void {
  if (process.getuid?.() === 0) return
  for (const directory of directoriesAbove(path, writable)) {
    const facts = factsOf(directory)
    if (facts?.isDirectory() !== true || !isClosedSince(facts, sinceMs)) continue
    openDirectory(directory)
  }
}

/** Read, write and search. */
const OWNER = 0o700

/** From the outermost writable one that contains the path. */
function directoriesAbove(path: string, writable: Writable): readonly string[] {
  const base = writable.directories
    .filter((directory) => isWithin(path, directory))
    .toSorted((one, other) => one.length - other.length)[0]
  if (base === undefined) return []
  const found: string[] = []
  for (let directory = dirname(path); isWithin(directory, base); directory = dirname(directory)) {
    found.unshift(directory)
    if (dirname(directory) === directory) break
  }
  return found
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`)
}

function realParent(path: string, writable: Writable): string | undefined {
  try {
    const real = realpathSync.native(dirname(path))
    const depthIn = (directories: readonly string[]): number =>
      Math.max(0, ...directories.filter((directory) => isWithin(real, directory)).map(({ length }) => length))
    return depthIn(writable.directories) > depthIn(writable.except) ? real : undefined
  } catch {
    // It does not exist any more.
    return undefined
  }
}

/** Calls `work` with the path through an open descriptor of its directory, so that a process cannot exchange it in between. */
function inParent<T>(path: string, writable: Writable, work: (entry: string) => T): T | undefined {
  const real = realParent(path, writable)
  if (real === undefined) return undefined
  const parent = openVerified(real, "directory")
  const entry = join(parent.path, basename(path))
  try {
    return work(entry)
  } catch (error) {
    const mode = parent.stats.mode & 0o7777
    const isRefused = errorCode(error) === "EACCES" || errorCode(error) === "EPERM"
    if (!isRefused || parent.stats.uid !== process.getuid?.()) throw error
    // The directory is the user's own, and a command took the permission to write it away.
    chmodSync(parent.path, mode | OWNER)
    try {
      return work(entry)
    } finally {
      chmodSync(parent.path, mode)
    }
  } finally {
    parent.close()
  }
}
