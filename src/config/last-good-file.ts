import { mkdirSync, readFileSync, rmSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../base/atomic-file.ts"
import { isRecord, parseJson } from "../base/json.ts"
import { fingerprint, secretHex, sha256Hex } from "../base/random-and-hash.ts"
import type { Home } from "./home.ts"

/** A file with restrictions as it was when it was last used. Lines are hashed, because a file may contain secrets. */
export interface LastGoodFile {
  /** Part of every hash. Empty in records of earlier versions. */
  readonly salt: string
  /** Tells without hashing each line that the text is the same: loading `node:crypto` would cost every start five milliseconds. */
  readonly print: string
  readonly lines: readonly string[]
  /** What the file restricted, in words for the user. */
  readonly restrictions: readonly string[]
}

interface GoodFile extends Pick<LastGoodFile, "restrictions"> {
  readonly text: string
}

/** The record of a file, or undefined if there is none. The name identifies the file within the home. */
export function readLastGood(home: Home, name: string): LastGoodFile | undefined {
  let value: unknown
  try {
    value = parseJson(readFileSync(recordPath(home, name), "utf8"))
  } catch {
    // The file was never used, or the cache was deleted.
    return undefined
  }
  if (!isRecord(value)) return undefined
  const { salt, print, lines, restrictions } = value
  return isTexts(lines) && isTexts(restrictions)
    ? { salt: textOf(salt), print: textOf(print), lines, restrictions }
    : undefined
}

export function writeLastGood(home: Home, name: string, { text, restrictions }: GoodFile): void {
  const salt = secretHex(SALT_BYTES)
  const file: LastGoodFile = { salt, print: fingerprint(salt + text), lines: hashedLines(text, salt), restrictions }
  const path = recordPath(home, name)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileAtomic(path, JSON.stringify(file))
  } catch {
    // On a full or read-only disk Hermes still starts, and damage is noticed later than it could be.
  }
}

const SALT_BYTES = 16

/** Forgets the record of a file that Hermes changed itself, unless the file was no longer what the record describes. */
export function forgetLastGood(home: Home, name: string, before: string): void {
  const last = readLastGood(home, name)
  if (last !== undefined && isSameText(before, last)) rmSync(recordPath(home, name), { force: true })
}

/** Blank lines at the end do not count: a file that was cut off may end with one. */
function hashedLines(text: string, salt: string): readonly string[] {
  const content = text.trimEnd()
  return content === "" ? [] : content.split("\n").map((line) => sha256Hex(salt + line).slice(0, 16))
}

export function isSameText(text: string, last: LastGoodFile): boolean {
  return fingerprint(last.salt + text) === last.print
}

/** Whether a text is only the beginning of what the file was. A last line without an end may be cut in the middle. */
export function isCutOff(text: string, last: LastGoodFile): boolean {
  const lines = hashedLines(text, last.salt)
  const isComplete = /\n\s*$/u.test(text)
  const complete = isComplete ? lines : lines.slice(0, -1)
  return complete.length < last.lines.length && complete.every((line, index) => line === last.lines[index])
}

function recordPath(home: Home, name: string): string {
  return home.file("cache", "rules", `${name}.json`)
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : ""
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string")
}
