/** One rate limit as reported by a provider. */
export interface RateLimitBucket {
  readonly limit: number
  readonly remaining: number
  readonly resetSeconds: number
  /** Epoch milliseconds. */
  readonly capturedAt: number
}

export type RateLimitName = (typeof NAMES)[number]

export type RateLimits = Partial<Readonly<Record<RateLimitName, RateLimitBucket>>>

const NAMES = ["requests", "requests-1h", "tokens", "tokens-1h"] as const

/** Reads `x-ratelimit-{limit|remaining|reset}-{requests|tokens}[-1h]`; skips a bucket without limit or remainder. */
export function parseRateLimits(headers: Readonly<Record<string, string | undefined>>, now: number): RateLimits {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const read = (what: string, name: RateLimitName) => lower.get(`x-ratelimit-${what}-${name}`)
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const limit = count(read("limit", name))
      const remaining = count(read("remaining", name))
      if (limit === undefined || remaining === undefined) return []
      const bucket = { limit, remaining, resetSeconds: seconds(read("reset", name)) ?? 0, capturedAt: now }
      return [[name, bucket]]
    }),
  )
}

const LONG_RESET_SECONDS = 60

/**
 * How long a limit of the account is exhausted; undefined without one, which means that the provider lacks capacity.
 */
export function exhaustedForSeconds(limits: RateLimits): number | undefined {
  const resets = Object.values(limits)
    .filter(({ remaining, resetSeconds }) => remaining === 0 && resetSeconds >= LONG_RESET_SECONDS)
    .map(({ resetSeconds }) => resetSeconds)
  return resets.length === 0 ? undefined : Math.max(...resets)
}

const WARNING_SHARE = 0.8

/** Worth a warning in usage displays. */
export function isNearLimit({ limit, remaining }: RateLimitBucket): boolean {
  return limit > 0 && (limit - remaining) / limit >= WARNING_SHARE
}

function count(value: string | undefined): number | undefined {
  const number = value === undefined || value.trim() === "" ? Number.NaN : Number(value)
  return Number.isFinite(number) && number >= 0 ? number : undefined
}

/** Seconds as a number, or a duration such as `6m0s` or `20ms`. */
function seconds(value: string | undefined): number | undefined {
  const plain = count(value)
  if (plain !== undefined || value === undefined) return plain
  const parts = [...value.trim().matchAll(/(\d+(?:\.\d+)?)(ms|d|h|m|s)/g)]
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== value.trim()) return undefined
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_SECONDS[unit ?? ""] ?? 0), 0)
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 }
