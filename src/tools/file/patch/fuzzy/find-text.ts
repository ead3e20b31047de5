import type { TextRegion } from "../../text/text-edit.ts"
import { STRATEGIES, STRATEGY_NAMES } from "./strategies.ts"
import type { StrategyName } from "./strategies.ts"

export interface FoundText {
  readonly strategy: StrategyName
  readonly regions: readonly TextRegion[]
}

/** The tolerant strategies need up to 50 times the memory of the text, so they are limited to texts of this length. */
const MAX_TOLERANT_CHARS = 2_000_000
/** Strategies that need hardly any memory. */
const FOR_LARGE_TEXTS: ReadonlySet<StrategyName> = new Set(["exact", "escape_normalized"])

export function isTooLargeForTolerance(content: string): boolean {
  return content.length > MAX_TOLERANT_CHARS
}

/** For the message that a text was not found, or "" when all strategies were tried. */
export function skippedStrategiesNote(content: string): string {
  if (!isTooLargeForTolerance(content)) return ""
  const skipped = STRATEGY_NAMES.filter((name) => !FOR_LARGE_TEXTS.has(name))
  return (
    `; the file has more than ${MAX_TOLERANT_CHARS.toLocaleString("en")} characters, so the text must be exactly as in the file: ` +
    `tolerant matching was skipped (${skipped.join(", ")})`
  )
}

/**
 * Finds a text in a file. The first strategy with a match decides, even when it has several matches. In large files, only strategies
 * that need little memory are tried.
 */
export function findText(
  content: string,
  old: string,
  { strategies }: { readonly strategies: "all" | "without-similarity" },
): FoundText | undefined {
  // Blank text would match everywhere when white space is ignored.
  const tried = old.trim() === "" ? (["exact"] as const) : STRATEGY_NAMES
  for (const strategy of tried) {
    if (strategies === "without-similarity" && BY_SIMILARITY.has(strategy)) continue
    if (isTooLargeForTolerance(content) && !FOR_LARGE_TEXTS.has(strategy)) continue
    const regions = STRATEGIES[strategy](content, old)
    if (regions.length > 0) return { strategy, regions }
  }
  return undefined
}

/** Strategies that guess a single match; replacing every merely similar passage would be unsafe. */
const BY_SIMILARITY: ReadonlySet<StrategyName> = new Set(["block_anchor", "context_aware"])
