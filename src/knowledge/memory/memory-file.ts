import { isUtf8 } from "node:buffer"
import { join } from "node:path"

import { readRegularFile } from "../../base/regular-file.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import { codePointLength } from "../../base/text.ts"

/** `memory`: notes of the agent about projects and the machine. `user`: facts about the user. */
export type MemoryTarget = "memory" | "user"

export const MEMORY_TARGETS = ["memory", "user"] as const

/** The memory paths of a home, the same in both editions. */
export function memoryPaths(home: string): {
  readonly memoryPath: string
  readonly userPath: string
  readonly stagingPath: string
} {
  return {
    memoryPath: join(home, "memories", "MEMORY.md"),
    userPath: join(home, "memories", "USER.md"),
    stagingPath: join(home, "pending", "memory"),
  }
}

/** A small Markdown file of facts, separated by lines with only `§`. */
export interface MemoryFile {
  readonly path: string
  readonly limitChars: number
}

/**
 * The contents of a memory file. `drifted`: another program or the user edited it so that rewriting would lose something; it may be
 * shown but not written. The `reason` completes a sentence that names the file.
 */
export type MemoryContent =
  | { readonly kind: "usable"; readonly entries: readonly string[]; readonly changedAt: number }
  | {
      readonly kind: "drifted"
      readonly entries: readonly string[]
      readonly changedAt: number
      readonly reason: string
      readonly bytes: Buffer
    }
  | { readonly kind: "unreadable"; readonly reason: string }

const SEPARATOR = "\n§\n"
/** Far beyond any configurable limit; a larger file is not a memory file. */
const MAX_BYTES = 1_000_000

/** Never throws. Synchronous, because the prompt of a new session needs it first. */
export function readMemoryFile(file: MemoryFile): MemoryContent {
  try {
    const { bytes, stats } = readRegularFile(file.path, { maxBytes: MAX_BYTES })
    return memoryContent(bytes, { limitChars: file.limitChars, changedAt: Number(stats.mtimeMs) })
  } catch (error) {
    if (isNotFound(error)) return { kind: "usable", entries: [], changedAt: 0 }
    return { kind: "unreadable", reason: explainSystemError(error) }
  }
}

function memoryContent(
  bytes: Buffer,
  { limitChars, changedAt }: { readonly limitChars: number; readonly changedAt: number },
): MemoryContent {
  const text = normalizeLineEndings(bytes.toString("utf8"))
  const entries = text
    .split(SEPARATOR)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
  const reason = driftReason({ bytes, text, entries, limitChars })
  return reason === undefined
    ? { kind: "usable", entries, changedAt }
    : { kind: "drifted", entries, changedAt, reason, bytes }
}

function driftReason(read: {
  readonly bytes: Buffer
  readonly text: string
  readonly entries: readonly string[]
  readonly limitChars: number
}): string | undefined {
  if (!isUtf8(read.bytes)) return "it is not valid UTF-8"
  if (joinEntries(read.entries) !== read.text.trim()) return "its entries are not separated by lines with only §"
  const longest = Math.max(0, ...read.entries.map(codePointLength))
  if (longest <= read.limitChars) return undefined
  return `one of its entries has ${withThousands(longest)} characters, more than the limit of ${withThousands(read.limitChars)} for the whole file`
}

/** Converts CRLF to LF and removes a byte order mark. */
export function normalizeLineEndings(text: string): string {
  return text.replace(/^\uFEFF/u, "").replaceAll("\r\n", "\n")
}

export function joinEntries(entries: readonly string[]): string {
  return entries.join(SEPARATOR)
}

/** True when the text would be read back as several entries. */
export function containsSeparator(entry: string): boolean {
  return entry.split("\n").includes("§")
}

/** `100% — 2,200/2,200 chars`. */
export function usageText(entries: readonly string[], limitChars: number): string {
  const used = codePointLength(joinEntries(entries))
  const percent = limitChars === 0 ? 100 : Math.min(100, Math.floor((100 * used) / limitChars))
  return `${percent}% — ${withThousands(used)}/${withThousands(limitChars)} chars`
}

/** Independent of the locale, because the text goes to the model. */
function withThousands(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",")
}
