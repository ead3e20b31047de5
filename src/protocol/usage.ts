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

/** Everything the model was given to read in that call. */
export function promptTokens(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite
}

export type CostStatus = "estimated" | "actual" | "included" | "unknown"

/**
 * How sure a sum is: as sure as its least sure part. One call that nobody can price makes the whole unknown; one that was
 * estimated makes it an estimate; a sum is included only when all of it is.
 */
export function worseStatus(a: CostStatus, b: CostStatus): CostStatus {
  return SURENESS.indexOf(a) < SURENESS.indexOf(b) ? b : a
}

/** The surest first. */
const SURENESS: readonly CostStatus[] = ["included", "actual", "estimated", "unknown"]
