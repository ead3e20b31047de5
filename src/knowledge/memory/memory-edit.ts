import { assertNever } from "../../base/assert-never.ts"
import { codePointLength, ellipsize, scrubSurrogates } from "../../base/text.ts"
import { scanThreats } from "../threat-scan.ts"
import { containsSeparator, joinEntries, normalizeLineEndings, usageText, type MemoryTarget } from "./memory-file.ts"

/** A change to a memory file. `oldText` is a part of the entry to change. */
export type MemoryWrite =
  | { readonly action: "add"; readonly target: MemoryTarget; readonly content: string }
  | {
      readonly action: "replace"
      readonly target: MemoryTarget
      readonly oldText: string
      readonly content: string
    }
  | { readonly action: "remove"; readonly target: MemoryTarget; readonly oldText: string }

/** Why nothing was changed, with information for the next attempt. */
export interface MemoryRefusal {
  readonly kind: "refused"
  readonly error: string
  /** The file has no room for the entry. */
  readonly isFull?: true
  readonly usage?: string
  /** All entries of the file, so that they can be consolidated. */
  readonly entries?: readonly string[]
  /** The entries that contain `oldText`. */
  readonly matches?: readonly string[]
  /** The path of a copy of a file that must not be overwritten. */
  readonly backup?: string
}

/** The effect of a write. `same`: the file already contains the entry. */
export type EditPlan =
  | { readonly kind: "change"; readonly entries: readonly string[]; readonly message: string }
  | { readonly kind: "same"; readonly message: string }
  | MemoryRefusal

const PREVIEW_CHARS = 80

export function refused(error: string, more: Omit<MemoryRefusal, "kind" | "error"> = {}): MemoryRefusal {
  return { kind: "refused", error, ...more }
}

/** Returns the normalized write, or why it is invalid regardless of the contents of the file. */
export function validateWrite(write: MemoryWrite): MemoryWrite | MemoryRefusal {
  if (write.action === "remove") {
    const oldText = cleanText(write.oldText)
    return oldText === "" ? refused("old_text is missing: name a part of the entry to remove") : { ...write, oldText }
  }
  const content = cleanText(write.content)
  if (write.action === "replace") {
    const oldText = cleanText(write.oldText)
    if (oldText === "") return refused("old_text is missing: name a part of the entry to replace")
    if (content === "") return refused("content is empty: use action remove to delete an entry")
    return contentProblem(content) ?? { ...write, oldText, content }
  }
  if (content === "") return refused("content is missing: pass the fact to remember as one short sentence")
  return contentProblem(content) ?? { ...write, content }
}

function cleanText(text: string): string {
  return normalizeLineEndings(scrubSurrogates(text)).trim()
}

function contentProblem(content: string): MemoryRefusal | undefined {
  if (containsSeparator(content))
    return refused("content must not contain a line with only §: add each entry separately")
  const threats = scanThreats(content, "strict")
  if (threats.length === 0) return undefined
  return refused(
    `content was rejected because it looks like ${threats.join(", ")}; memory is part of every later prompt, so store plain facts only`,
  )
}

/** Applies a validated write to the current entries. */
export function planWrite(write: MemoryWrite, entries: readonly string[], limitChars: number): EditPlan {
  switch (write.action) {
    case "add":
      return entries.includes(write.content)
        ? { kind: "same", message: "this entry already exists" }
        : withinLimit([...entries, write.content], { before: entries, limitChars, message: "entry added" })
    case "replace": {
      const index = findEntry(write.oldText, entries)
      if (typeof index !== "number") return index
      const changed = entries.with(index, write.content)
      return withinLimit(changed, { before: entries, limitChars, message: "entry replaced" })
    }
    case "remove": {
      const index = findEntry(write.oldText, entries)
      if (typeof index !== "number") return index
      return { kind: "change", entries: entries.toSpliced(index, 1), message: "entry removed" }
    }
    default:
      return assertNever(write)
  }
}

/** Treats equal entries as one and returns the index of the first. */
function findEntry(part: string, entries: readonly string[]): number | MemoryRefusal {
  const matches = [...new Set(entries.filter((entry) => entry.includes(part)))]
  const [only, ...others] = matches
  if (only === undefined) return refused(`no entry contains "${ellipsize(part, PREVIEW_CHARS)}"`, { entries })
  if (others.length === 0) return entries.indexOf(only)
  return refused(`${matches.length} entries contain "${ellipsize(part, PREVIEW_CHARS)}": pass a longer part of one`, {
    matches: matches.map((entry) => ellipsize(entry, PREVIEW_CHARS)),
  })
}

function withinLimit(
  entries: readonly string[],
  limit: { readonly before: readonly string[]; readonly limitChars: number; readonly message: string },
): EditPlan {
  const chars = codePointLength(joinEntries(entries))
  if (chars <= limit.limitChars) return { kind: "change", entries, message: limit.message }
  return refused(
    `memory is full: the file would have ${chars} of ${limit.limitChars} characters. Merge or remove entries now, in this turn, then try again`,
    { isFull: true, usage: usageText(limit.before, limit.limitChars), entries: limit.before },
  )
}
