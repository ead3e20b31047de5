import { appendFileSync, statSync } from "node:fs"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { isNotFound } from "../../base/system-error.ts"
import { formatLearning, parseLearning } from "./learning.ts"
import type { Learning } from "./learning.ts"

/** A line of the file. Unparsed lines are preserved: a later version may have written them, or the user may repair them. */
export type LearningLine =
  | { readonly kind: "learning"; readonly learning: Learning; readonly bytes?: Buffer }
  | { readonly kind: "unparsed"; readonly bytes: Buffer }

export interface LearningsFile {
  /** Returns the lines on disk; reads the file only when it has changed. Throws when it cannot be read. */
  lines(): readonly LearningLine[]
  append(learning: Learning): void
  replace(lines: readonly LearningLine[]): void
}

const MAX_BYTES = 64_000_000
const NEWLINE = 0x0a

/** Reading needs no lock. A writer must hold the lock while it reads and writes. */
export function openLearningsFile(path: string): LearningsFile {
  let cached: Content | undefined
  const content = (): Content => {
    if (cached === undefined || cached.version !== fileVersion(path)) cached = readContent(path)
    return cached
  }
  return {
    lines: () => content().lines,
    append: (learning) => {
      // A crash may have left an incomplete last line.
      const start = content().truncated ? "\n" : ""
      appendFileSync(path, `${start}${formatLearning(learning)}\n`, { mode: 0o600 })
    },
    replace: (lines) => {
      const newline = Buffer.from([NEWLINE])
      writeFileAtomic(path, Buffer.concat(lines.flatMap((line) => [bytesOf(line), newline])))
    },
  }
}

interface Content {
  /** Changes when the file changes. */
  readonly version: string
  readonly lines: readonly LearningLine[]
  /** The last line has no line break. */
  readonly truncated: boolean
}

function readContent(path: string): Content {
  try {
    const { bytes, stats } = readRegularFile(path, { maxBytes: MAX_BYTES })
    const truncated = bytes.length > 0 && bytes.at(-1) !== NEWLINE
    return { version: versionOf(stats), lines: splitLines(bytes).map(toLine), truncated }
  } catch (error) {
    if (isNotFound(error)) return { version: NO_FILE, lines: [], truncated: false }
    throw error
  }
}

const NO_FILE = "none"

function fileVersion(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? NO_FILE : versionOf(stats)
}

function versionOf(stats: { readonly ino: bigint; readonly size: bigint; readonly mtimeNs: bigint }): string {
  return `${stats.ino}:${stats.size}:${stats.mtimeNs}`
}

function splitLines(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(NEWLINE, start)
    const end = found === -1 ? bytes.length : found
    lines.push(bytes.subarray(start, end))
    start = end + 1
  }
  return lines
}

function toLine(bytes: Buffer): LearningLine {
  const learning = parseLearning(bytes.toString("utf8"))
  return learning === undefined ? { kind: "unparsed", bytes } : { kind: "learning", learning, bytes }
}

function bytesOf(line: LearningLine): Buffer {
  return line.kind === "unparsed" ? line.bytes : (line.bytes ?? Buffer.from(formatLearning(line.learning)))
}
