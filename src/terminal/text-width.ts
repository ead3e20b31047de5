import { lazy } from "../base/lazy.ts"

/** The number of terminal columns that a text without control characters takes. */
export function textColumns(text: string): number {
  if (isPrintableAscii(text)) return text.length
  let columns = 0
  for (const { segment } of graphemes(text)) columns += graphemeColumns(segment)
  return columns
}

/** The columns of one user-perceived character. Combining marks, joiners and variation selectors belong to their base. */
export function graphemeColumns(grapheme: string): number {
  if (grapheme.length === 1 && grapheme >= " " && grapheme <= "~") return 1
  if (/^[\p{Mn}\p{Me}\p{Cf}]+$/u.test(grapheme)) return 0
  return WIDE.test(grapheme) || grapheme.includes("\uFE0F") ? 2 : 1
}

export function graphemes(text: string): Intl.Segments {
  return segmenter().segment(text)
}

/** The index of the user-perceived character that ends at `index`, or 0. */
export function previousGrapheme(text: string, index: number): number {
  const from = safeStart(text, index)
  let last = index
  for (const segment of graphemes(text.slice(from, index))) last = from + segment.index
  return last === index ? 0 : last
}

/** The index after the user-perceived character that starts at `index`. */
export function nextGrapheme(text: string, index: number): number {
  const [first] = graphemes(text.slice(index, index + MAX_GRAPHEME_UNITS))
  return index + (first?.segment.length ?? 0)
}

/** Cuts a text so that it takes at most this many columns. */
export function takeColumns(text: string, columns: number): string {
  if (isPrintableAscii(text)) return text.slice(0, columns)
  let used = 0
  for (const { segment, index } of graphemes(text)) {
    used += graphemeColumns(segment)
    if (used > columns) return text.slice(0, index)
  }
  return text
}

/** Creating one takes longer than most texts. */
const segmenter = lazy(() => new Intl.Segmenter(undefined, { granularity: "grapheme" }))

/** Longer than any real character; keeps a key press in a long text cheap. */
const MAX_GRAPHEME_UNITS = 64
/** How far back the start of a character is searched for, where flags and joined emoji follow each other without a space. */
const MAX_LOOKBACK_UNITS = 2048

/** An index before this one where a character starts: flags are pairs, so counting from the middle of a row of them goes wrong. */
function safeStart(text: string, index: number): number {
  let from = Math.max(0, index - MAX_GRAPHEME_UNITS)
  const limit = Math.max(0, index - MAX_LOOKBACK_UNITS)
  while (from > limit && (text.charCodeAt(from) > 0x7e || text.charCodeAt(from) < 0x20)) from -= 1
  return from
}

function isPrintableAscii(text: string): boolean {
  return /^[ -~]*$/.test(text)
}

const WIDE =
  /^(?:[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\p{RI}\p{RI})/u
