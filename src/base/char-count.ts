import { codePointLength } from "./text.ts"

/** Length in code points; fast for text without surrogate pairs, which is almost all text. */
export function charCount(text: string): number {
  return HIGH_SURROGATE.test(text) ? codePointLength(text) : text.length
}

const HIGH_SURROGATE = /[\uD800-\uDBFF]/

export function isLongerThan(text: string, chars: number): boolean {
  return text.length > chars && (text.length > 2 * chars || charCount(text) > chars)
}
