import type { Region } from "../editable-text.ts"
import { STRATEGIES, STRATEGY_NAMES } from "./strategies.ts"
import type { StrategyName } from "./strategies.ts"

export interface FoundText {
  readonly strategy: StrategyName
  readonly regions: readonly Region[]
}

/** Where a text stands in a file. The first strategy with a match decides, also when its matches are too many. */
export function findText(
  content: string,
  old: string,
  { strategies }: { readonly strategies: "all" | "without-similarity" },
): FoundText | undefined {
  // Blank text fits everywhere once spaces do not count.
  const tried = old.trim() === "" ? (["exact"] as const) : STRATEGY_NAMES
  for (const strategy of tried) {
    if (strategies === "without-similarity" && BY_SIMILARITY.has(strategy)) continue
    const regions = STRATEGIES[strategy](content, old)
    if (regions.length > 0) return { strategy, regions }
  }
  return undefined
}

/** These guess at one place; to change every place that is merely alike would be reckless. */
const BY_SIMILARITY: ReadonlySet<StrategyName> = new Set(["block_anchor", "context_aware"])
