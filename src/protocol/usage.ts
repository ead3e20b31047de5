/** Tokens of one model call, normalised over all wires. `input` excludes what was read from or written to a cache. */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** Part of `output`. */
  readonly reasoning: number
}

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
  }
}

/** All input tokens of a call, cached or not. */
export function promptTokens(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite
}

export type CostStatus = "estimated" | "actual" | "included" | "unknown"

/** The status of a sum: that of its least reliable part. One call without a known price makes the sum unknown. */
export function worseStatus(a: CostStatus, b: CostStatus): CostStatus {
  return BY_RELIABILITY.indexOf(a) < BY_RELIABILITY.indexOf(b) ? b : a
}

/** Most reliable first. */
const BY_RELIABILITY: readonly CostStatus[] = ["included", "actual", "estimated", "unknown"]
