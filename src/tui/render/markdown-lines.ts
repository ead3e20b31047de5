/** A line without an end is processed in parts of this length. */
export const MAX_LINE_CHARS = 2048
/** Characters that begin inline Markdown. The lexer takes quadratic time over them. */
export const MAX_LINE_MARKS = 200
const MAX_TABLE_CELLS = 64
const MAX_INDENT = 40

const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/u

export const ITEM_MARKER = /^ {0,3}(?:[-*+]|\d{1,9}[.)]) {1,4}/u

export function startsList(lines: readonly string[]): boolean {
  return ITEM.test(lines.find((line) => line.trim() !== "") ?? "")
}

/** Deep nesting and dense marks cost more than they are worth; such a line is shown as text. */
export function isHostile(line: string): boolean {
  return NESTED.test(line) || countMarks(line) > MAX_LINE_MARKS || count(line, CELLS) > MAX_TABLE_CELLS
}

const NESTED = /^(?:\s*(?:>|[-*+]\s|\d{1,9}[.)]\s)){12}/u
const CELLS = /\|/gu
const MARKS = /[[\]*_~<`!\\$&@]/gu

export function countMarks(text: string): number {
  return count(text, MARKS)
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}

export function withBoundedIndent(line: string): string {
  const [indent = ""] = /^[ \t]*/u.exec(line) ?? []
  if (indent.length <= MAX_INDENT && !indent.includes("\t")) return line
  return " ".repeat(Math.min(MAX_INDENT, indent.replaceAll("\t", "    ").length)) + line.slice(indent.length)
}

/** A line is cut after a space if it has one, and never inside a character of two units. */
export function partLength(text: string, start: number): number {
  // A search in the whole text would go back to its beginning for every part.
  const space = text.slice(start, start + MAX_LINE_CHARS).lastIndexOf(" ")
  if (space > MAX_LINE_CHARS / 2) return space + 1
  const isHigh = /[\uD800-\uDBFF]/u.test(text.charAt(start + MAX_LINE_CHARS - 1))
  return isHigh ? MAX_LINE_CHARS - 1 : MAX_LINE_CHARS
}
