/** A price as an integer in 1e-9 USD per million tokens, so that sums are exact; null when unknown. */
export type Price = bigint | null

export interface PriceSet {
  readonly input: Price
  readonly output: Price
  readonly cacheRead: Price
  readonly cacheWrite: Price
}

/** Prices for prompts longer than `above` tokens. */
export interface PriceTier extends PriceSet {
  readonly above: number
}

export interface Prices extends PriceSet {
  /** Ascending. */
  readonly tiers?: readonly PriceTier[]
  /** Per call, in 1e-9 USD. */
  readonly request?: bigint
  readonly source: PriceSource
  readonly version: string
}

/** `provider`: the endpoint's model list. `table`: the fixed prices of this release. `catalog`: the generated snapshot. */
export type PriceSource = "provider" | "table" | "catalog"

const DECIMAL_PLACES = 9

/** Parses USD per million tokens exactly. Negative, infinite and invalid numbers become null. */
export function parsePrice(usdPerMillion: string | number | null | undefined): Price {
  return scaled(usdPerMillion, DECIMAL_PLACES)
}

/** Parses USD per token, as in the lists of aggregators. */
export function parsePricePerToken(usdPerToken: string | number | null | undefined): Price {
  return scaled(usdPerToken, DECIMAL_PLACES + 6)
}

/** Parses USD per call. */
export function parseRequestPrice(usd: string | number | null | undefined): bigint | null {
  return scaled(usd, DECIMAL_PLACES)
}

/** Multiplies a decimal number by a power of ten without binary fractions. Further digits are cut. */
function scaled(value: string | number | null | undefined, decimals: number): bigint | null {
  const text = String(value ?? "").trim()
  const [, whole = "", fraction = "", exponent = "0"] = /^(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(text) ?? []
  if (whole === "" && fraction === "") return null
  const shift = decimals + Number(exponent) - fraction.length
  const digits = BigInt(`${whole}${fraction}`)
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift)
}
