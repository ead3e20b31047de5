import type { TextRegion } from "../../text/text-edit.ts"
import { STRATEGIES, STRATEGY_NAMES } from "./strategies.ts"
import type { StrategyName } from "./strategies.ts"

export interface FoundText {
  readonly strategy: StrategyName
  readonly regions: readonly TextRegion[]
}

/** Finds a text in a file. The first strategy with a match decides, even when it has several matches. */
export function findText(
  content: string,
  old: string,
  { strategies }: { readonly strategies: "all" | "without-similarity" },
): FoundText | undefined {
  // Blank text would match everywhere when white space is ignored.
  const tried = old.trim() === "" ? (["exact"] as const) : STRATEGY_NAMES
  for (const strategy of tried) {
    if (strategies === "without-similarity" && BY_SIMILARITY.has(strategy)) continue
    const regions = STRATEGIES[strategy](content, old)
    if (regions.length > 0) return { strategy, regions }
  }
  return undefined
}

/** Strategies that guess a single match; replacing every merely similar passage would be unsafe. */
const BY_SIMILARITY: ReadonlySet<StrategyName> = new Set(["block_anchor", "context_aware"])
