import { charCount } from "../base/char-count.ts"

/** Characters of a result as one-line forms state them: `1,200`. */
export function digestChars(text: string): string {
  return String(charCount(text)).replaceAll(/\B(?=(?:\d{3})+$)/g, ",")
}

/** Lines of a text as one-line forms count them: newlines plus one, none for a blank text. */
export function digestLines(text: string): number {
  return text.trim() === "" ? 0 : text.split("\n").length
}

/** An argument as it can stand in one line. */
export function digestValue(value: unknown): string {
  if (value === undefined || value === null) return ""
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text.replaceAll(/\s*\n\s*/g, " ")
}
