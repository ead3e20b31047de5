import { stripAnsi } from "../../base/strip-ansi.ts"
import { codePointLength, takeCodePoints } from "../../base/text.ts"

const TITLE_CHARS = 60

/** The user's first words, cut at a word boundary, without piped text and without what is not text. Empty if there are no words. */
export function shortTitle(text: string): string {
  const [typed = ""] = text.split(FENCE, 1)
  const flat = words(typed) || words(text.split(FENCE).join("\n"))
  if (codePointLength(flat) <= TITLE_CHARS) return flat
  const cut = takeCodePoints(flat, TITLE_CHARS)
  const space = cut.lastIndexOf(" ")
  return space > TITLE_CHARS / 3 ? cut.slice(0, space) : cut
}

/** The line that begins or ends a block of code or piped text. */
const FENCE = /^[ \t]*(?:`{3,}|~{3,}).*$/mu

/** Control characters and direction marks, and the character that replaces bytes that are not UTF-8. */
const NOT_TEXT = /[\s\p{Cc}\u{FFFD}\u{202A}-\u{202E}\u{2066}-\u{2069}]+/gu

function words(text: string): string {
  const flat = stripAnsi(text).replaceAll(NOT_TEXT, " ").trim()
  return /[\p{L}\p{N}\p{S}\p{P}]/u.test(flat) ? flat : ""
}
