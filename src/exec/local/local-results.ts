import { lstatSync, readdirSync, rmdirSync, unlinkSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { errorCode, isNotFound } from "../../base/system-error.ts"
import { newResultName } from "../result-files.ts"
import { inVerified, openVerified, openVerifiedDirectory, PathChangedError } from "./verified-path.ts"

const DAY_MS = 86_400_000
const KEEP_DAYS = 7
const MAX_TOTAL_BYTES = 500_000_000

/** Stores a result in a new file of the conversation's directory, whose path must contain no links. Returns the path of the file. */
export function saveResult(directory: string, text: string): string {
  const name = newResultName()
  const { directory: opened } = openVerifiedDirectory(directory, 0o700)
  try {
    inVerified(opened, directory, (path) => {
      createFile(join(path, name), text)
    })
  } finally {
    opened.close()
  }
  return join(directory, name)
}

function createFile(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: "wx", mode: 0o600 })
  } catch (error) {
    // On a full disk the beginning has been written.
    if (errorCode(error) !== "EEXIST") removeIfPresent(path)
    throw error
  }
}

interface StoredResult {
  readonly directory: string
  readonly name: string
  readonly size: number
  readonly modifiedMs: number
}

/**
 * `root` has a directory for each conversation. Removes results older than a week and, while all together exceed the size limit, the oldest ones. Results younger than a day always stay,
 * because a running session may read them. Touches only regular files with names that Hermes gives.
 */
export function removeOldResults(root: string, now: number): number {
  const directories = entriesOf(root).map((name) => join(root, name))
  const results = directories.flatMap(resultsIn).toSorted((a, b) => b.modifiedMs - a.modifiedMs)
  let bytes = 0
  const old = results.filter(({ size, modifiedMs }) => {
    bytes += size
    const age = now - modifiedMs
    return age >= DAY_MS && (age >= KEEP_DAYS * DAY_MS || bytes > MAX_TOTAL_BYTES)
  })
  for (const { directory, name } of old) {
    inDirectory(directory, (path) => {
      removeIfPresent(join(path, name))
    })
  }
  for (const directory of new Set(old.map((result) => result.directory))) removeIfEmpty(directory)
  return old.length
}

function resultsIn(directory: string): readonly StoredResult[] {
  const found = inDirectory(directory, (path) =>
    readdirSync(path)
      .filter((name) => RESULT_NAME.test(name))
      .flatMap((name) => {
        const facts = lstatSync(join(path, name), { throwIfNoEntry: false })
        return facts?.isFile() === true ? [{ directory, name, size: facts.size, modifiedMs: facts.mtimeMs }] : []
      }),
  )
  return found ?? []
}

const RESULT_NAME = /^result-[0-9a-f]{16}\.txt$/u

function entriesOf(root: string): readonly string[] {
  return inDirectory(root, (path) => readdirSync(path)) ?? []
}

function removeIfEmpty(directory: string): void {
  inDirectory(dirname(directory), (path) => {
    try {
      rmdirSync(join(path, basename(directory)))
    } catch (error) {
      if (errorCode(error) !== "ENOTEMPTY" && !isNotFound(error)) throw error
    }
  })
}

function removeIfPresent(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Undefined for a path that does not exist, is no directory, or contains a link. */
function inDirectory<T>(directory: string, work: (path: string) => T): T | undefined {
  let opened
  try {
    opened = openVerified(directory, "directory")
  } catch (error) {
    if (isNotFound(error) || errorCode(error) === "ENOTDIR" || error instanceof PathChangedError) return undefined
    throw error
  }
  try {
    return inVerified(opened, directory, work)
  } finally {
    opened.close()
  }
}
