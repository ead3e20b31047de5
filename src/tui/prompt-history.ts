import { appendFileSync, closeSync, fchmodSync, fstatSync, openSync, readSync } from "node:fs"

import type { App } from "../app/app.ts"
import { writeFileAtomic } from "../base/atomic-file.ts"
import type { Clock } from "../base/clock.ts"
import { explainSystemError } from "../base/system-error.ts"
import { takeCodePoints } from "../base/text.ts"

/** The messages that the user sent from the prompt, also in earlier conversations. */
export interface PromptHistory {
  /** Oldest first. The file is read on the first call. */
  entries(): readonly string[]
  add(text: string): void
}

export interface PromptHistoryOptions {
  readonly path: string
  readonly redact: (text: string) => string
  readonly clock: Clock
  /** Called once when the history cannot be written. */
  readonly failed: (error: unknown) => void
}

/** The Python edition uses the same file. */
const HISTORY_FILE = ".hermes_history"

/** The history of a home. `problem` is called with a sentence when it cannot be written. */
export function homeHistory(
  { home, redactor, clock }: Pick<App, "home" | "redactor" | "clock">,
  problem: (text: string) => void,
): PromptHistory {
  return openPromptHistory({
    path: home.file(HISTORY_FILE),
    redact: (text) => redactor.redact(text, { force: true }),
    clock,
    failed: (error) => problem(`The prompt history is not saved: ${explainSystemError(error)}.`),
  })
}

const MAX_ENTRIES = 1000
/** When the file is larger, it is written again with the entries that are kept. */
const MAX_FILE_BYTES = 1_000_000
const MAX_ENTRY_CHARS = 20_000

/**
 * The file has the format of the Python edition, which uses the same one: per entry a blank line, `# <time>`, and each line of the
 * text behind a `+`. Processes append to it at the same time, so an entry is one write.
 */
export function openPromptHistory(options: PromptHistoryOptions): PromptHistory {
  const { path, redact, clock, failed } = options
  let loaded: string[] | undefined
  let works = true
  const attempt = (work: () => void): void => {
    if (!works) return
    try {
      work()
    } catch (error) {
      // The conversation goes on without it: a read-only or full disk must not stop the user from typing.
      works = false
      failed(error)
    }
  }
  const entries = (): string[] => {
    if (loaded !== undefined) return loaded
    loaded = []
    attempt(() => {
      const { text, isTooLarge } = readTail(path)
      loaded = parse(text).slice(-MAX_ENTRIES)
      if (isTooLarge)
        writeFileAtomic(
          path,
          halfOf(loaded)
            .map((entry) => format(entry, clock.now()))
            .join(""),
        )
    })
    return loaded
  }
  return {
    entries,
    add: (typed) => {
      if (typed.trim() === "" || typed.startsWith(" ")) return
      const text = takeCodePoints(redact(typed), MAX_ENTRY_CHARS)
      const known = entries()
      if (known.at(-1) === text) return
      known.push(text)
      attempt(() => {
        appendFileSync(path, format(text, clock.now()), { mode: 0o600 })
      })
    },
  }
}

/** The newest entries that fill at most half of the file, so that it is not written again soon. */
function halfOf(entries: readonly string[]): readonly string[] {
  let size = 0
  const first = entries.findLastIndex((entry) => {
    size += entry.length
    return size > MAX_FILE_BYTES / 2
  })
  return entries.slice(first + 1)
}

function readTail(path: string): { readonly text: string; readonly isTooLarge: boolean } {
  const file = openSync(path, "a+", 0o600)
  try {
    const { size, mode } = fstatSync(file)
    // Another program may have created it readable for everyone.
    if ((mode & 0o077) !== 0) fchmodSync(file, 0o600)
    const start = Math.max(0, size - MAX_FILE_BYTES)
    const buffer = Buffer.alloc(size - start)
    const length = readSync(file, buffer, 0, buffer.length, start)
    return { text: buffer.toString("utf8", 0, length), isTooLarge: start > 0 }
  } finally {
    closeSync(file)
  }
}

function format(text: string, now: number): string {
  const time = new Date(now).toISOString().replace("T", " ").replace("Z", "000")
  return `\n# ${time}\n${text
    .split("\n")
    .map((line) => `+${line}\n`)
    .join("")}`
}

function parse(text: string): string[] {
  const entries: string[] = []
  let lines: string[] = []
  const end = (): void => {
    const entry = lines.join("\n")
    lines = []
    if (entry.trim() !== "" && entries.at(-1) !== entry) entries.push(entry)
  }
  for (const line of text.split("\n")) {
    if (line.startsWith("+")) lines.push(line.slice(1))
    else if (lines.length > 0) end()
  }
  end()
  return entries
}
