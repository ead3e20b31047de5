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

/** The last `count` lines that pass, oldest first; goes back into older parts until there are enough. */
export function lastLines(
  parts: readonly string[],
  count: number,
  createFilter: () => (line: string) => boolean,
): readonly string[] {
  let found: readonly string[] = []
  for (const part of parts) {
    if (found.length >= count) break
    const passes = createFilter()
    found = [...linesOf(part).filter((line) => passes(line)), ...found]
  }
  return count === 0 ? [] : found.slice(-count)
}

function linesOf(path: string): readonly string[] {
  const text = readFileSync(path, "utf8")
  const lines = text.split("\n")
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
