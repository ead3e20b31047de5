import type { UsageMeter } from "./resource-usage.ts"

/** One line of the result: the value for Hermes and, where possible, for a minimal program that does the same work (the floor). */
export interface Row {
  readonly name: string
  readonly unit: Unit
  readonly ours: number
  readonly floor?: number
  readonly target?: Target
  /** The value of every round, in order. The JSON contains them to show how the median came about. */
  readonly samples?: Samples
}

export type Unit = "ms" | "s" | "µs" | "MB" | "bytes" | "per s" | "share" | "count"

/** `ratio` is relative to the floor of the same row. The other values are in the unit of the row. */
export type Target = { readonly ratio: number } | { readonly atMost: number } | { readonly atLeast: number }

export interface Plan {
  readonly rounds: { readonly startUp: number; readonly oneShot: number }
  /** Undefined where the peak memory and CPU time of a process cannot be read. The result then has no such rows. */
  readonly meter: UsageMeter | undefined
}

export interface Measurement {
  /** The name for `--only`. */
  readonly name: string
  /** Skipped by `--quick`. */
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
  if (upper === undefined) throw new Error("an empty list has no median")
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? upper) + upper) / 2 : upper
}
