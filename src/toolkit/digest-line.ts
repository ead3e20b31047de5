import { charCount } from "../base/char-count.ts"

/** The number of characters of a result for a digest: `1,200`. */
export function digestChars(text: string): string {
  return String(charCount(text)).replaceAll(/\B(?=(?:\d{3})+$)/g, ",")
}

/** The number of lines of a text for a digest: newlines plus one, 0 for a blank text. */
export function digestLines(text: string): number {
  return text.trim() === "" ? 0 : text.split("\n").length
}

/** An argument as a single line. */
export function digestValue(value: unknown): string {
  if (value === undefined || value === null) return ""
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text.replaceAll(/\s*\n\s*/g, " ")
}
