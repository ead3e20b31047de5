import { stripAnsi } from "../base/strip-ansi.ts"
import { codePointLength, takeCodePoints } from "../base/text.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"

export const MAX_TITLE_LENGTH = 100

/** Control, zero-width and direction characters that would make two titles look alike or a list unreadable. */
const INVISIBLE =
  // oxlint-disable-next-line no-control-regex -- control characters are what is being removed
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFC]/gu

/** Returns the title as it is stored, or null when nothing visible is left. */
export function cleanTitle(title: string): Result<string | null, { readonly length: number; readonly limit: number }> {
  const cleaned = visibleTitle(title)
  if (cleaned === "") return ok(null)
  const length = codePointLength(cleaned)
  return length > MAX_TITLE_LENGTH ? fail({ length, limit: MAX_TITLE_LENGTH }) : ok(cleaned)
}

/** For generated titles: truncates a title that is too long instead of rejecting it. */
export function cleanGeneratedTitle(title: string): string | null {
  const cleaned = takeCodePoints(visibleTitle(title), MAX_TITLE_LENGTH).trim()
  return cleaned === "" ? null : cleaned
}

/** Removes the number of a title within its lineage: `notes #4` → `notes`. */
export function lineageBase(title: string): string {
  return title.replace(/ #\d+$/, "")
}

/** The first free title of the lineage, given every title equal to the base or starting with `base #`. */
export function nextInLineage(base: string, existing: readonly string[]): string {
  if (existing.length === 0) return base
  const numbers = existing.map((title) => Number(/ #(\d+)$/.exec(title.slice(base.length))?.[1] ?? 1))
  const suffix = ` #${Math.max(...numbers) + 1}`
  return takeCodePoints(base, MAX_TITLE_LENGTH - suffix.length) + suffix
}

function visibleTitle(title: string): string {
  return stripAnsi(title.toWellFormed()).replace(INVISIBLE, "").replace(/\s+/gu, " ").trim()
}
