import type { UsageMeter } from "./resource-usage.ts"

/** One line of the result: what Hermes takes and, where there is one, what the least program for the same work takes. */
export interface Row {
  readonly name: string
  readonly unit: Unit
  readonly ours: number
  readonly floor?: number
  readonly target?: Target
  /** Every round, in order; kept in the JSON so that a median can be judged. */
  readonly samples?: Samples
}

export type Unit = "ms" | "s" | "µs" | "MB" | "bytes" | "per s" | "share" | "count"

/** A ratio is to the floor of the same row; a value is in the row's own unit. */
export type Target = { readonly ratio: number } | { readonly atMost: number } | { readonly atLeast: number }

export interface Plan {
  readonly rounds: { readonly startUp: number; readonly oneShot: number }
  /** Undefined where this machine has no way to read a process's peak memory and CPU time; such rows are left out. */
  readonly meter: UsageMeter | undefined
}

export interface Measurement {
  /** What `--only` takes. */
  readonly name: string
  /** Left out by `--quick`. */
  readonly slow?: boolean
  run(plan: Plan): Promise<readonly Row[]>
}

export interface Samples {
  readonly ours: readonly number[]
  readonly floor: readonly number[]
}

/** A row of two medians. */
export function compared(name: string, unit: Unit, found: Samples & { readonly target?: Target }): Row {
  const { ours, floor, target } = found
  return {
    name,
    unit,
    ours: median(ours),
    floor: median(floor),
    ...(target === undefined ? {} : { target }),
    samples: { ours, floor },
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const upper = sorted[Math.floor(middle)]
  if (upper === undefined) throw new Error("there is no median of nothing")
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper
}
