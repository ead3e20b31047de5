import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { parseLogLine } from "../../base/log-line.ts"
import { isNotFound } from "../../base/system-error.ts"
import { createLineFilter, lastEntryShown, type LogFilter, type ShownBefore } from "./log-filter.ts"

/** The logs that can be read by name; each is `<name>.log`, with older parts `.1`, `.2`, …. */
export const LOG_NAMES = ["agent", "errors", "gateway", "gui"] as const

export interface LogFileFacts {
  readonly name: string
  readonly bytes: number
  /** Epoch seconds. */
  readonly changed: number
}

/** Every log file of a home, including files that are not in `LOG_NAMES`. */
export function listLogFiles(directory: string): readonly LogFileFacts[] {
  return namesIn(directory)
    .filter((name) => /\.(log|jsonl)(\.\d+)?$/.test(name))
    .toSorted()
    .flatMap((name) => {
      const stats = statSync(join(directory, name), { throwIfNoEntry: false })
      return stats?.isFile() === true ? [{ name, bytes: stats.size, changed: stats.mtimeMs / 1000 }] : []
    })
}

/** The paths of the parts of one log, newest first. */
export function logParts(path: string): readonly string[] {
  const parts: string[] = []
  for (let index = 0; ; index += 1) {
    const part = index === 0 ? path : `${path}.${index}`
    if (statSync(part, { throwIfNoEntry: false })?.isFile() !== true) {
      if (index > 0) return parts
    } else parts.push(part)
  }
}

/** A position in a log: a part, identified by its inode, and a byte offset in it. */
export interface LogPosition {
  readonly inode: number
  readonly offset: number
}

/** The end of the last complete line. Reading stops and following starts here, so that no line is lost or shown twice. */
export function endOfLog(path: string): LogPosition | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return undefined
  return { inode: stats.ino, offset: readFileSync(path).subarray(0, stats.size).lastIndexOf(NEWLINE) + 1 }
}

/** The last lines of a log that pass the filter. */
export interface LastLines {
  /** Oldest first. */
  readonly lines: readonly string[]
  /** For the lines that are written later. */
  readonly shown: ShownBefore
}

/** Reads the last `count` lines that pass the filter, from older parts too until there are enough. */
export function lastLines(
  parts: readonly string[],
  options: { readonly count: number; readonly until: LogPosition | undefined; readonly filter: LogFilter },
): LastLines {
  const { count, until } = options
  const newest = parts.findIndex((part) => inodeOf(part) === until?.inode)
  const wanted = newest === -1 ? parts : parts.slice(newest)
  const read = (index: number): readonly string[] | undefined => {
    const part = wanted[index]
    if (part === undefined) return undefined
    return linesOf(part, inodeOf(part) === until?.inode ? until?.offset : undefined)
  }
  const before = (index: number): ShownBefore => lastEntryShown(read(index + 1) ?? [], options.filter)
  let found: readonly string[] = []
  let shown: ShownBefore
  for (let index = 0; index === 0 || found.length < count; index += 1) {
    const lines = read(index)
    if (lines === undefined) break
    const filter = createLineFilter(options.filter, startsWithEntry(lines) ? undefined : before(index))
    found = [...lines.filter((line) => filter.passes(line)), ...found]
    if (index === 0) shown = filter.shown
  }
  return { lines: count === 0 ? [] : found.slice(-count), shown }
}

const NEWLINE = 10

function startsWithEntry([first]: readonly string[]): boolean {
  return first !== undefined && parseLogLine(first) !== undefined
}

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
