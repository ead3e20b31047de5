/** A price as a whole number of 1e-9 USD for a million tokens, so that sums are exact; null where there is none. */
export type Price = bigint | null

export interface PriceSet {
  readonly input: Price
  readonly output: Price
  readonly cacheRead: Price
  readonly cacheWrite: Price
}

/** Prices of a call whose prompt is longer than `above` tokens. */
export interface PriceTier extends PriceSet {
  readonly above: number
}

export interface Prices extends PriceSet {
  /** Ascending. */
  readonly tiers?: readonly PriceTier[]
  /** For each call, in 1e-9 USD. */
  readonly request?: bigint
  readonly source: PriceSource
  readonly version: string
}

/** `provider`: its own list, asked for. `table`: the prices this release has fixed. `catalog`: the generated snapshot. */
export type PriceSource = "provider" | "table" | "catalog"

const PLACES = 9

/** USD for a million tokens, exactly as written. Negative, endless and unreadable numbers are no price. */
export function priceFrom(usdPerMillion: string | number | null | undefined): Price {
  return scaled(usdPerMillion, PLACES)
}

/** USD for one token, as the lists of aggregators have it. */
export function priceFromPerToken(usdPerToken: string | number | null | undefined): Price {
  return scaled(usdPerToken, PLACES + 6)
}

/** USD for one call. */
export function requestPriceFrom(usd: string | number | null | undefined): bigint | null {
  return scaled(usd, PLACES)
}

/** A decimal number times a power of ten, without passing through binary fractions. Digits beyond that are cut. */
function scaled(value: string | number | null | undefined, places: number): bigint | null {
  const text = String(value ?? "").trim()
  const [, whole = "", fraction = "", exponent = "0"] = /^(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i.exec(text) ?? []
  if (whole === "" && fraction === "") return null
  const shift = places + Number(exponent) - fraction.length
  const digits = BigInt(`${whole}${fraction}`)
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift)
}
