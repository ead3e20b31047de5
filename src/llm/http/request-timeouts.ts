import type { Environment } from "../../config/environment.ts"
import type { WireName } from "../model.ts"
import type { HttpTimeouts } from "./http-connection.ts"

/** What the timeouts of a request depend on. */
export interface TimeoutFacts {
  readonly wire: WireName
  /** On this machine or its local network: it may need minutes before its first token. */
  readonly local: boolean
  /** False when the response arrives in one piece, after a long wait. */
  readonly streaming: boolean
  /** `providers.<id>.models.<m>.timeout_seconds`, else `providers.<id>.request_timeout_seconds`. */
  readonly requestSeconds?: number
  /** `providers.<id>.stale_timeout_seconds`. */
  readonly staleSeconds?: number
  readonly environment: Environment
}

const TOTAL_SECONDS = 1800
const CONNECT_SECONDS = 30
const READ_SECONDS = 120
const FIRST_BYTE_SECONDS = 120
/** From this size on, the Responses wire has no limit for the first byte. */
const LONG_REQUEST_TOKENS = 25_000

/** The timeouts of the connection, and the one that the reader of the response enforces. */
export interface RequestTimeouts extends HttpTimeouts {
  /**
   * Maximum time without a new frame, from the request on; 0 means no limit. It differs from `idleMs`, because a server may send
   * keep-alive comments, which are bytes but not frames.
   */
  readonly staleMs: number
}

/**
 * Returns the timeouts for a request of about this many tokens. Settings override environment variables, which override the
 * defaults. A local server has no stale, idle or first-byte limit unless one is configured.
 */
export function requestTimeouts(facts: TimeoutFacts, approxTokens: number): RequestTimeouts {
  const { environment, local, streaming } = facts
  const totalMs = 1000 * (facts.requestSeconds ?? seconds(environment, "HERMES_API_TIMEOUT") ?? TOTAL_SECONDS)
  const connectMs = (local ? 2000 : 1000) * CONNECT_SECONDS
  const variable = streaming ? "HERMES_STREAM_STALE_TIMEOUT" : "HERMES_API_CALL_STALE_TIMEOUT"
  const configured = facts.staleSeconds ?? seconds(environment, variable)
  const staleMs = 1000 * (configured ?? (local ? 0 : defaultStaleSeconds(facts, approxTokens)))
  // Without streaming, no byte arrives before the response is complete.
  if (!streaming) return { connectMs, idleMs: staleMs, staleMs, totalMs }
  const read = seconds(environment, "HERMES_STREAM_READ_TIMEOUT") ?? (local ? undefined : READ_SECONDS)
  const idleMs = read === undefined ? 0 : Math.max(1000 * read, staleMs)
  const limitsFirstByte = !local && facts.wire === "codex_responses" && approxTokens < LONG_REQUEST_TOKENS
  const firstByteMs = 1000 * Math.max(FIRST_BYTE_SECONDS, configured ?? 0)
  return { connectMs, ...(limitsFirstByte ? { firstByteMs } : {}), idleMs, staleMs, totalMs }
}

/** Stale seconds by request size; the first matching row applies. */
type StaleTable = readonly (readonly [aboveTokens: number, seconds: number])[]

const STREAM: StaleTable = [
  [100_000, 300],
  [50_000, 240],
  [-1, 180],
]
const RESPONSES: StaleTable = [
  [100_000, 1200],
  [50_000, 900],
  [25_000, 600],
  [-1, 180],
]
const COMPLETE: StaleTable = [
  [100_000, 240],
  [50_000, 150],
  [-1, 90],
]

function defaultStaleSeconds({ wire, streaming }: TimeoutFacts, approxTokens: number): number {
  const table = wire === "codex_responses" ? RESPONSES : streaming ? STREAM : COMPLETE
  return table.find(([above]) => approxTokens > above)?.[1] ?? 180
}

function seconds(environment: Environment, name: string): number | undefined {
  const value = Number(environment.get(name) ?? "")
  return value > 0 ? Math.min(value, MAX_SECONDS) : undefined
}

/** Below the maximum delay of a Node timer. */
const MAX_SECONDS = 2_000_000
