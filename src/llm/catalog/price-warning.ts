import type { Price, Prices } from "./prices.ts"

/** Above these prices the user must confirm a model; in USD per million tokens. */
const MAX_INPUT = 20n
const MAX_OUTPUT = 100n
const PER_USD = 1_000_000_000n

/** Returns a warning with both prices and their source when a model is expensive; undefined for low and unknown prices. */
export function priceWarning(model: string, prices: Prices | undefined): string | undefined {
  if (prices === undefined) return undefined
  const { input, output, source, version } = prices
  if (!exceeds(input, MAX_INPUT) && !exceeds(output, MAX_OUTPUT)) return undefined
  return `${model} is expensive: ${usd(input)} in, ${usd(output)} out per million tokens (${source}, ${version}).`
}

function exceeds(price: Price, limit: bigint): boolean {
  return price !== null && price > limit * PER_USD
}

function usd(price: Price): string {
  return price === null ? "unknown" : `$${Number((Number(price) / 1e9).toFixed(3))}`
}
