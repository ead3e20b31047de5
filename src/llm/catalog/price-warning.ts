import type { Price, Prices } from "./prices.ts"

/** Above these a person is asked before a model is used; in USD for a million tokens. */
const DEAR_INPUT = 20n
const DEAR_OUTPUT = 100n
const PER_USD = 1_000_000_000n

/** A sentence when a model is dear, with both prices and who says so; undefined for modest and for unknown prices. */
export function priceWarning(model: string, prices: Prices | undefined): string | undefined {
  if (prices === undefined) return undefined
  const { input, output, source, version } = prices
  if (!exceeds(input, DEAR_INPUT) && !exceeds(output, DEAR_OUTPUT)) return undefined
  return `${model} is expensive: ${usd(input)} in, ${usd(output)} out for a million tokens (${source}, ${version}).`
}

function exceeds(price: Price, limit: bigint): boolean {
  return price !== null && price > limit * PER_USD
}

function usd(price: Price): string {
  return price === null ? "unknown" : `$${Number((Number(price) / 1e9).toFixed(3))}`
}
