import { isRecord } from "../../base/json.ts"

/**
 * When a limit resets according to the server, in epoch seconds. Fields take precedence over prose. A time in the past
 * is ignored: the caller's default delay is better then.
 */
export function findResetAt(
  source: {
    readonly headers: Readonly<Record<string, string | undefined>>
    readonly body: unknown
    readonly text: string
  },
  now: number,
): number | undefined {
  const nowSeconds = now / 1000
  const sources = [...recordsOf(source.body), headerFields(source.headers)]
  const times = sources.flatMap((fields) => [
    ...TIME_FIELDS.map((field) => parseTimestamp(fields[field])),
    ...DELAY_FIELDS.map((field) => timeAfterDelay(fields[field], nowSeconds)),
  ])
  const named = times.find((time) => time !== undefined && time > nowSeconds)
  if (named !== undefined) return named
  const delay = parseResetDelay(source.text)
  return delay === undefined ? undefined : nowSeconds + delay
}

/** Epoch seconds from seconds, milliseconds (as number or text) or an ISO or HTTP date. */
export function parseTimestamp(value: unknown): number | undefined {
  if (typeof value === "number") return epochSeconds(value)
  if (typeof value !== "string" || value.trim() === "") return undefined
  const number = Number(value)
  if (Number.isFinite(number)) return epochSeconds(number)
  // Date.parse also guesses dates in prose, so require a year.
  const parsed = /\d{4}/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isFinite(parsed) ? epochSeconds(parsed / 1000) : undefined
}

/** Seconds in texts such as `quotaResetDelay: 1500ms`, "retry after 12 seconds", "Resets in 4hr 5min". */
export function parseResetDelay(text: string): number | undefined {
  const quota = /quotaResetDelay\W{0,8}(\d+(?:\.\d+)?)\s*(ms|s)\b/i.exec(text)
  if (quota !== null) return Number(quota[1]) / (quota[2]?.toLowerCase() === "ms" ? 1000 : 1)
  const retry = /\bretry\s+(?:after\s+|in\s+)?(\d+(?:\.\d+)?)\s*(?:s\b|sec)/i.exec(text)
  if (retry !== null) return Number(retry[1])
  const resets = /\bresets?\s+in\s+(?:(\d+)\s*(?:hours?|hrs?|h)\b)?\s*(?:(\d+)\s*(?:minutes?|mins?|m)\b)?/i.exec(text)
  if (resets === null || (resets[1] === undefined && resets[2] === undefined)) return undefined
  return Number(resets[1] ?? 0) * 3600 + Number(resets[2] ?? 0) * 60
}

const TIME_FIELDS = ["reset_at", "resets_at", "retry_until", "x_ratelimit_reset"]
const DELAY_FIELDS = ["retry_after", "resets_in_seconds", "retryDelay"]

/** Epoch seconds have ten digits until the year 2286; numbers with twelve or more digits are milliseconds. */
const MIN_MILLISECONDS = 100_000_000_000

function epochSeconds(value: number): number | undefined {
  if (!Number.isFinite(value) || value <= 0) return undefined
  return value >= MIN_MILLISECONDS ? value / 1000 : value
}

/** A delay in seconds; `retry-after` may also be a date, and `retryDelay` of Google is text with a unit (`34.5s`). */
function timeAfterDelay(value: unknown, nowSeconds: number): number | undefined {
  const plain = typeof value === "string" ? value.replace(/^([\d.]+)s$/u, "$1") : value
  const seconds = typeof plain === "string" && plain.trim() !== "" ? Number(plain) : plain
  if (typeof seconds !== "number") return undefined
  return Number.isFinite(seconds) ? nowSeconds + seconds : parseTimestamp(value)
}

/** The delay of Google's `google.rpc.RetryInfo` in milliseconds: its errors carry it instead of a `retry-after` header. */
export function findRetryDelayMs(body: unknown): number | undefined {
  const delays = recordsOf(body).map((fields) => timeAfterDelay(fields["retryDelay"], 0))
  const seconds = delays.find((delay) => delay !== undefined)
  return seconds === undefined ? undefined : seconds * 1000
}

/** The body and its nested objects: vendors put the reset next to the message, above it or in its metadata. */
function recordsOf(body: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isRecord(body)) return []
  const error = isRecord(body["error"]) ? body["error"] : {}
  const metadata = isRecord(error["metadata"]) ? error["metadata"] : {}
  const headers = isRecord(metadata["headers"]) ? metadata["headers"] : {}
  // Google lists structured details, `google.rpc.RetryInfo` among them.
  const details = Array.isArray(error["details"]) ? error["details"].filter(isRecord) : []
  return [error, body, metadata, headerFields(headers), ...details]
}

function headerFields(headers: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [fieldName(name), value]))
}

function fieldName(header: string): string {
  return header.toLowerCase().replaceAll("-", "_")
}
