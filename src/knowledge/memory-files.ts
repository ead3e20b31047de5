import { readFileSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { dirname } from "node:path"

import { writeFileAtomic } from "../base/atomic-file.ts"
import { withFileLock } from "../base/file-lock.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import { codePointLength, scrubSurrogates } from "../base/text.ts"

/** Curated facts in a small Markdown file: entries separated by a line that holds `§`, shared with the P-edition. */
export interface MemoryFile {
  readonly path: string
  readonly limitChars: number
}

const SEPARATOR = "\n§\n"
const LOCK_WAIT_MS = 5000

/** Synchronous, because the prompt of a new session is built from it before anything else can happen. */
export function readMemory(file: MemoryFile): readonly string[] {
  let text: string
  try {
    text = readFileSync(file.path, "utf8")
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
  return text
    .split(SEPARATOR)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
}

/** Adds one entry, or says why not. A repeated entry is a success that changes nothing. */
export async function addMemory(
  file: MemoryFile,
  text: string,
): Promise<Result<{ readonly usedChars: number; readonly limitChars: number }>> {
  const entry = scrubSurrogates(text).trim()
  if (entry === "") return fail("an empty entry cannot be kept")
  if (entry.includes("§")) return fail("an entry may not contain the separator §")
  try {
    await mkdir(dirname(file.path), { recursive: true, mode: 0o700 })
    return await withFileLock(`${file.path}.lock`, { waitMs: LOCK_WAIT_MS }, () => addEntry(file, entry))
  } catch (error) {
    return fail(`the entry was not saved: ${explainSystemError(error)}`)
  }
}

function addEntry(file: MemoryFile, entry: string): Awaited<ReturnType<typeof addMemory>> {
  const entries = readMemory(file)
  const known = entries.includes(entry)
  const content = (known ? entries : [...entries, entry]).join(SEPARATOR)
  const usedChars = codePointLength(content)
  if (known) return ok({ usedChars, limitChars: file.limitChars })
  if (usedChars > file.limitChars) {
    return fail(
      `memory is full: ${usedChars} of ${file.limitChars} characters with this entry; shorten it or remove older entries`,
    )
  }
  writeFileAtomic(file.path, content, { mode: 0o600 })
  return ok({ usedChars, limitChars: file.limitChars })
}
