import { stripAnsi } from "../../base/strip-ansi.ts"
import { takeCodePoints } from "../../base/text.ts"

/** Each process reports at most one match per window; a window with further matches counts as a strike. */
const WINDOW_MS = 15_000
const STRIKES = 3
const MAX_LINES = 20
const MAX_CHARS = 2000
/** How much of an unterminated line is buffered to find patterns that arrive in two chunks. */
const MAX_PARTIAL_LINE_CHARS = 4096

export type WatchEvent =
  | { readonly kind: "match"; readonly pattern: string; readonly output: string; readonly suppressed: number }
  /** The process matched too often; no further matches are reported. */
  | { readonly kind: "disabled" }

/** Finds literal texts in output that arrives in chunks, and rate-limits the matches. */
export function createPatternWatch(patterns: readonly string[]): {
  readonly scan: (text: string, now: number) => WatchEvent | undefined
} {
  let partialLine = ""
  let partialLineReported = false
  let windowStart: number | undefined
  let suppressed = 0
  let hasStrike = false
  let strikes = 0

  const matches = (text: string): { readonly pattern: string; readonly lines: readonly string[] } | undefined => {
    const lines = (partialLine + text).split(/\r?\n/)
    const wasReported = partialLineReported
    partialLineReported = false
    let pattern: string | undefined
    const found = lines.map(stripAnsi).filter((line, index) => {
      const hit = patterns.find((candidate) => line.includes(candidate))
      if (hit === undefined) return false
      if (index === lines.length - 1) partialLineReported = true
      if (index === 0 && wasReported) return false
      pattern ??= hit
      return true
    })
    partialLine = (lines.at(-1) ?? "").slice(-MAX_PARTIAL_LINE_CHARS)
    return pattern === undefined ? undefined : { pattern, lines: found }
  }

  return {
    scan: (text, now) => {
      if (strikes >= STRIKES) return undefined
      const match = matches(text)
      if (match === undefined) return undefined
      if (windowStart !== undefined && now - windowStart < WINDOW_MS) {
        suppressed += match.lines.length
        if (!hasStrike) strikes += 1
        hasStrike = true
        return strikes >= STRIKES ? { kind: "disabled" } : undefined
      }
      if (!hasStrike) strikes = 0
      const event = { kind: "match", pattern: match.pattern, output: truncateMatches(match.lines), suppressed } as const
      windowStart = now
      hasStrike = false
      suppressed = 0
      return event
    },
  }
}

function truncateMatches(lines: readonly string[]): string {
  return takeCodePoints(lines.slice(0, MAX_LINES).join("\n"), MAX_CHARS)
}
