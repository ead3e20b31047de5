import { appendFileSync, statSync } from "node:fs"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { isNotFound } from "../../base/system-error.ts"
import { formatLearning, parseLearning } from "./learning.ts"
import type { Learning } from "./learning.ts"

/** The lines of the file. What is no learning keeps its bytes and its place: it may be of a later version, or be mended. */
export type LearningLine =
  | { readonly kind: "learning"; readonly learning: Learning; readonly bytes?: Buffer }
  | { readonly kind: "foreign"; readonly bytes: Buffer }

export interface LearningsFile {
  /** As it is on disk now. Read again only when the file has changed. Throws when it cannot be read. */
  lines(): readonly LearningLine[]
  append(learning: Learning): void
  replace(lines: readonly LearningLine[]): void
}

const MAX_BYTES = 64_000_000
const NEWLINE = 0x0a

/** Reading needs no lock; who writes holds one around reading and writing. */
export function openLearningsFile(path: string): LearningsFile {
  let known: Content | undefined
  const content = (): Content => {
    if (known === undefined || known.state !== fileState(path)) known = readContent(path)
    return known
  }
  return {
    lines: () => content().lines,
    append: (learning) => {
      // A line that was cut off by a crash must not swallow this one.
      const start = content().cutOff ? "\n" : ""
      appendFileSync(path, `${start}${formatLearning(learning)}\n`, { mode: 0o600 })
    },
    replace: (lines) => {
      const newline = Buffer.from([NEWLINE])
      writeFileAtomic(path, Buffer.concat(lines.flatMap((line) => [bytesOf(line), newline])))
    },
  }
}

interface Content {
  /** Tells this content from a later one. */
  readonly state: string
  readonly lines: readonly LearningLine[]
  /** The last line has no end. */
  readonly cutOff: boolean
}

function readContent(path: string): Content {
  try {
    const { bytes, stats } = readRegularFile(path, { maxBytes: MAX_BYTES })
    const cutOff = bytes.length > 0 && bytes.at(-1) !== NEWLINE
    return { state: stateOf(stats), lines: splitLines(bytes).map(toLine), cutOff }
  } catch (error) {
    if (isNotFound(error)) return { state: NO_FILE, lines: [], cutOff: false }
    throw error
  }
}

const NO_FILE = "none"

function fileState(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? NO_FILE : stateOf(stats)
}

function stateOf(stats: { readonly ino: bigint; readonly size: bigint; readonly mtimeNs: bigint }): string {
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
  return learning === undefined ? { kind: "foreign", bytes } : { kind: "learning", learning, bytes }
}

function bytesOf(line: LearningLine): Buffer {
  return line.kind === "foreign" ? line.bytes : (line.bytes ?? Buffer.from(formatLearning(line.learning)))
}
