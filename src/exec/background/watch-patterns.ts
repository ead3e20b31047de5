import { stripAnsi } from "../../base/strip-ansi.ts"
import { takeCodePoints } from "../../base/text.ts"

/** At most one notice in this time per process; matches in between are a strike. */
const WINDOW_MS = 15_000
const STRIKES = 3
const MAX_LINES = 20
const MAX_CHARS = 2000
/** How much of a line that has not ended yet is kept to find a pattern in it. */
const MAX_OPEN_CHARS = 4096

export type WatchEvent =
  | { readonly kind: "match"; readonly pattern: string; readonly output: string; readonly suppressed: number }
  /** It matched too often; nothing more will be reported. */
  | { readonly kind: "disabled" }

/** Looks for plain texts in an output that arrives in pieces, and keeps a chatty one from flooding the conversation. */
export function createWatch(patterns: readonly string[]): {
  readonly scan: (text: string, now: number) => WatchEvent | undefined
} {
  let open = ""
  let openWasReported = false
  let windowStart: number | undefined
  let suppressed = 0
  let struck = false
  let strikes = 0

  const matches = (text: string): { readonly pattern: string; readonly lines: readonly string[] } | undefined => {
    const lines = (open + text).split(/\r?\n/)
    const wasReported = openWasReported
    openWasReported = false
    let pattern: string | undefined
    const found = lines.map(stripAnsi).filter((line, index) => {
      const hit = patterns.find((one) => line.includes(one))
      if (hit === undefined) return false
      if (index === lines.length - 1) openWasReported = true
      if (index === 0 && wasReported) return false
      pattern ??= hit
      return true
    })
    open = (lines.at(-1) ?? "").slice(-MAX_OPEN_CHARS)
    return pattern === undefined ? undefined : { pattern, lines: found }
  }

  return {
    scan: (text, now) => {
      if (strikes >= STRIKES) return undefined
      const match = matches(text)
      if (match === undefined) return undefined
      if (windowStart !== undefined && now - windowStart < WINDOW_MS) {
        suppressed += match.lines.length
        if (!struck) strikes += 1
        struck = true
        return strikes >= STRIKES ? { kind: "disabled" } : undefined
      }
      if (!struck) strikes = 0
      const event = { kind: "match", pattern: match.pattern, output: shown(match.lines), suppressed } as const
      windowStart = now
      struck = false
      suppressed = 0
      return event
    },
  }
}

function shown(lines: readonly string[]): string {
  return takeCodePoints(lines.slice(0, MAX_LINES).join("\n"), MAX_CHARS)
}
