import { assertNever } from "../../base/assert-never.ts"
import type { PooledCredential } from "./pooled-credential.ts"

export const SELECTION_STRATEGIES = ["fill_first", "round_robin", "random", "least_used"] as const
export type RotationStrategy = (typeof SELECTION_STRATEGIES)[number]

/** Unknown names mean the default, so that a typo in the settings does not stop a conversation. */
export function parseStrategy(name: unknown): RotationStrategy {
  return SELECTION_STRATEGIES.find((strategy) => strategy === name) ?? "fill_first"
}

export interface Selection {
  readonly chosen: PooledCredential
  /** All entries, with the order or counts that the selection changed. */
  readonly entries: readonly PooledCredential[]
  /** The new order must be saved, so that the next process continues from it. */
  readonly reordered: boolean
}

/** Selects a credential. `entries` are in order of priority; `candidates` are those that may be used now. */
export function selectCredential(
  entries: readonly PooledCredential[],
  options: {
    readonly candidates: readonly PooledCredential[]
    readonly strategy: RotationStrategy
    readonly random: () => number
  },
): Selection | undefined {
  const { candidates, strategy } = options
  const first = candidates[0]
  if (first === undefined) return undefined
  switch (strategy) {
    case "fill_first":
      return { chosen: first, entries, reordered: false }
    case "random": {
      const chosen = candidates[Math.floor(options.random() * candidates.length)] ?? first
      return { chosen, entries, reordered: false }
    }
    case "round_robin": {
      const order = [...entries.filter(({ id }) => id !== first.id), first]
      const numbered = order.map((entry, priority) => ({ ...entry, priority }))
      return { chosen: first, entries: numbered, reordered: entries.length > 1 }
    }
    case "least_used": {
      const chosen = candidates.reduce((best, entry) => (entry.requestCount < best.requestCount ? entry : best), first)
      const counted = { ...chosen, requestCount: chosen.requestCount + 1 }
      const updated = entries.map((entry) => (entry.id === chosen.id ? counted : entry))
      return { chosen: counted, entries: updated, reordered: false }
    }
    default:
      return assertNever(strategy)
  }
}
