import { promptTokens, type CostStatus, type Usage } from "../../protocol/usage.ts"
import type { Price, Prices, PriceSet, PriceSource } from "./prices.ts"

/** What one model call cost. `usd` is null when any part of it is unknown: a part that is not counted is never shown as free. */
export interface Cost {
  readonly usd: number | null
  readonly status: CostStatus
  readonly source: PriceSource | "none" | "subscription"
  /** Which edition of the prices was used. */
  readonly version: string
}

export interface CostPlace {
  readonly provider: string
  readonly model: string
  readonly prices: Prices | undefined
  /** How long written cache entries were asked to live; an hour costs more where the vendor says so. */
  readonly cacheTtl?: "5m" | "1h"
}

export function costOf(usage: Usage, place: CostPlace): Cost {
  if (INCLUDED.has(place.provider)) return { usd: 0, status: "included", source: "subscription", version: "" }
  const { prices } = place
  if (prices === undefined) return UNKNOWN
  const from = { source: prices.source, version: prices.version }
  const sum = sumOf(usage, tierFor(usage, prices), writeFactor(place))
  if (sum === null) return { usd: null, status: "unknown", ...from }
  return { usd: toUsd(roundedMillionth(sum) + (prices.request ?? 0n)), status: "estimated", ...from }
}

/** Adds two amounts to the billionth of a dollar, so that a ledger of thousands of calls stays exact. */
export function addUsd(a: number, b: number): number {
  return (Math.round(a * NANO) + Math.round(b * NANO)) / NANO
}

/**
 * What the next request of a conversation will hold at least, as its provider will bill it: what the last one wrote to or read
 * from the cache is read from there again, the rest and the last answer are new.
 */
export function nextRequestUsage(last: Usage): Usage {
  const cacheRead = last.cacheRead + last.cacheWrite
  return { input: last.input + last.output, output: 0, cacheRead, cacheWrite: 0, reasoning: 0 }
}

/** `~$0.69`; small amounts keep the digits that say something. */
export function costLabel(cost: Pick<Cost, "usd" | "status">): string {
  if (cost.status === "included") return "included"
  if (cost.usd === null) return "unknown"
  const digits = cost.usd > 0 && cost.usd < 0.01 ? 4 : 2
  return `${cost.status === "actual" ? "" : "~"}$${cost.usd.toFixed(digits)}`
}

/** Paid by a subscription, or by nobody. */
const INCLUDED: ReadonlySet<string> = new Set(["openai-codex", "demo"])

const UNKNOWN: Cost = { usd: null, status: "unknown", source: "none", version: "" }

const NANO = 1_000_000_000

/** The prices for a prompt of this length. */
function tierFor(usage: Usage, prices: Prices): PriceSet {
  const prompt = promptTokens(usage)
  return (prices.tiers ?? []).findLast(({ above }) => prompt > above) ?? prices
}

/**
 * Anthropic charges twice the input price for cache entries that live an hour, and 1.25 times for those of five minutes, which is
 * what price lists name. As a fraction: an hour costs 8/5 of the listed price.
 */
function writeFactor({ model, cacheTtl }: CostPlace): readonly [bigint, bigint] {
  const claude = /(?:^|[/.])claude-/i.test(model)
  return cacheTtl === "1h" && claude ? [8n, 5n] : [1n, 1n]
}

/** In 1e-9 USD, times a million; null when tokens were used that have no price. */
function sumOf(usage: Usage, prices: PriceSet, [times, over]: readonly [bigint, bigint]): bigint | null {
  const writes = prices.cacheWrite === null ? null : (prices.cacheWrite * times) / over
  const buckets: readonly (readonly [number, Price])[] = [
    [usage.input, prices.input],
    [usage.output, prices.output],
    [usage.cacheRead, prices.cacheRead],
    [usage.cacheWrite, writes],
  ]
  let sum = 0n
  for (const [tokens, price] of buckets) {
    if (tokens === 0) continue
    if (price === null) return null
    sum += BigInt(tokens) * price
  }
  return sum
}

function roundedMillionth(sum: bigint): bigint {
  return (sum + 500_000n) / 1_000_000n
}

function toUsd(nano: bigint): number {
  return Number(nano) / NANO
}
