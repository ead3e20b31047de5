import { promptTokens, type CostStatus, type Usage } from "../../protocol/usage.ts"
import type { Price, Prices, PriceSet, PriceSource } from "./prices.ts"

/** The cost of one model call. `usd` is null when the price of any part is unknown, so that no part is shown as free. */
export interface Cost {
  readonly usd: number | null
  readonly status: CostStatus
  readonly source: PriceSource | "none" | "subscription"
  /** The version of the price data. */
  readonly version: string
}

export interface CostContext {
  readonly provider: string
  readonly model: string
  readonly prices: Prices | undefined
  /** The lifetime of written cache entries; some vendors charge more for an hour. */
  readonly cacheTtl?: "5m" | "1h"
}

export function costOf(usage: Usage, context: CostContext): Cost {
  if (INCLUDED.has(context.provider)) return { usd: 0, status: "included", source: "subscription", version: "" }
  const { prices } = context
  if (prices === undefined) return UNKNOWN
  const from = { source: prices.source, version: prices.version }
  const sum = sumOf(usage, tierFor(usage, prices), writeFactor(context))
  if (sum === null) return { usd: null, status: "unknown", ...from }
  return { usd: toUsd(roundedMillionth(sum) + (prices.request ?? 0n)), status: "estimated", ...from }
}

/** Adds two amounts to the billionth of a dollar, so that the sum of thousands of calls stays exact. */
export function addUsd(a: number, b: number): number {
  return (Math.round(a * NANO) + Math.round(b * NANO)) / NANO
}

/**
 * Estimates the minimum usage of a conversation's next request: what the last one wrote to or read from the cache is read from
 * there, the other input and the last reply are new.
 */
export function nextRequestUsage(last: Usage): Usage {
  const cacheRead = last.cacheRead + last.cacheWrite
  return { input: last.input + last.output, output: 0, cacheRead, cacheWrite: 0, reasoning: 0 }
}

/** Providers that are paid by subscription or are free. */
const INCLUDED: ReadonlySet<string> = new Set(["openai-codex", "demo"])

const UNKNOWN: Cost = { usd: null, status: "unknown", source: "none", version: "" }

const NANO = 1_000_000_000

/** Returns the prices for a prompt of this length. */
function tierFor(usage: Usage, prices: Prices): PriceSet {
  const prompt = promptTokens(usage)
  return (prices.tiers ?? []).findLast(({ above }) => prompt > above) ?? prices
}

/**
 * Anthropic charges twice the input price for one-hour cache entries and 1.25 times for five-minute ones, and price lists give
 * only the latter. As a fraction: an hour costs 8/5 of the listed price.
 */
function writeFactor({ model, cacheTtl }: CostContext): readonly [bigint, bigint] {
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
