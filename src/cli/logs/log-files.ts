import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { isNotFound } from "../../base/system-error.ts"

/** The logs a person can ask for by name; each is `<name>.log` with older parts `.1`, `.2`, …. */
export const LOG_NAMES = ["agent", "errors", "gateway", "gui"] as const

export interface LogFileFacts {
  readonly name: string
  readonly bytes: number
  /** Epoch seconds. */
  readonly changed: number
}

/** Every log file of a home, also those that have no name of their own here. */
export function listLogFiles(directory: string): readonly LogFileFacts[] {
  return namesIn(directory)
    .filter((name) => /\.(log|jsonl)(\.\d+)?$/.test(name))
    .toSorted()
    .flatMap((name) => {
      const stats = statSync(join(directory, name), { throwIfNoEntry: false })
      return stats?.isFile() === true ? [{ name, bytes: stats.size, changed: stats.mtimeMs / 1000 }] : []
    })
}

/** The parts of one log, newest first, as paths. */
export function logParts(path: string): readonly string[] {
  const parts: string[] = []
  for (let index = 0; ; index += 1) {
    const part = index === 0 ? path : `${path}.${index}`
    if (statSync(part, { throwIfNoEntry: false })?.isFile() !== true) {
      if (index > 0) return parts
    } else parts.push(part)
  }
}

/** A place in a log: which part, and the end of its last whole line. */
export interface LogMark {
  readonly inode: number
  readonly offset: number
}

/** Where the log ends now. Reading stops and following starts there, so that no line is lost or shown twice between them. */
export function markEnd(path: string): LogMark | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  return { inode: stats.ino, offset: readFileSync(path).subarray(0, stats.size).lastIndexOf(NEWLINE) + 1 }
}

/** The last `count` lines that pass, oldest first; goes back into older parts until there are enough. */
export function lastLines(
  parts: readonly string[],
  options: {
    readonly count: number
    readonly until: LogMark | undefined
    readonly filter: () => (line: string) => boolean
  },
): readonly string[] {
  const { count, until } = options
  const newest = parts.findIndex((part) => inodeOf(part) === until?.inode)
  let found: readonly string[] = []
  for (const part of newest === -1 ? parts : parts.slice(newest)) {
    if (found.length >= count) break
    const passes = options.filter()
    const end = inodeOf(part) === until?.inode ? until?.offset : undefined
    found = [...linesOf(part, end).filter((line) => passes(line)), ...found]
  }
  return count === 0 ? [] : found.slice(-count)
}

const NEWLINE = 10

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

function linesOf(path: string, end: number | undefined): readonly string[] {
  const lines = readFileSync(path).subarray(0, end).toString("utf8").split("\n")
  if (lines.at(-1) === "") lines.pop()
  return lines
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}
