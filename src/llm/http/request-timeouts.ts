import type { Environment } from "../../config/environment.ts"
import type { WireName } from "../model.ts"
import type { HttpTimeouts } from "./http.ts"

/** What decides how long a request may take. */
export interface TimeoutFacts {
  readonly wire: WireName
  /** On this machine or nearby: it may think for minutes before its first word. */
  readonly local: boolean
  /** False where the answer comes in one piece, after a silence as long as the thinking. */
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
/** From here on the Responses wire may be silent for as long as it needs before it begins. */
const LONG_THOUGHT_TOKENS = 25_000

/** What the connection is told, and what the reader of the answer watches by itself. */
export interface RequestTimeouts extends HttpTimeouts {
  /**
   * Longest wait for the next piece of an answer, from the request on; 0 waits for ever. A server may send bytes that say nothing
   * (comments that keep the connection open), so this is another silence than that of the connection.
   */
  readonly staleMs: number
}

/**
 * The limits for a request of about this many tokens. What the settings say beats the variables, and both beat the table. A server
 * nearby is only hurried by what somebody has set.
 */
export function requestTimeouts(facts: TimeoutFacts, approxTokens: number): RequestTimeouts {
  const { environment, local, streaming } = facts
  const totalMs = 1000 * (facts.requestSeconds ?? seconds(environment, "HERMES_API_TIMEOUT") ?? TOTAL_SECONDS)
  const connectMs = (local ? 2000 : 1000) * CONNECT_SECONDS
  const variable = streaming ? "HERMES_STREAM_STALE_TIMEOUT" : "HERMES_API_CALL_STALE_TIMEOUT"
  const set = facts.staleSeconds ?? seconds(environment, variable)
  const staleMs = 1000 * (set ?? (local ? 0 : usualSilence(facts, approxTokens)))
  // In one piece: there is nothing to read before all of it is there.
  if (!streaming) return { connectMs, idleMs: staleMs, staleMs, totalMs }
  const read = seconds(environment, "HERMES_STREAM_READ_TIMEOUT") ?? (local ? undefined : READ_SECONDS)
  const idleMs = read === undefined ? 0 : Math.max(1000 * read, staleMs)
  const hurried = !local && facts.wire === "codex_responses" && approxTokens < LONG_THOUGHT_TOKENS
  const firstByteMs = 1000 * Math.max(FIRST_BYTE_SECONDS, set ?? 0)
  return { connectMs, ...(hurried ? { firstByteMs } : {}), idleMs, staleMs, totalMs }
}

/** Above so many tokens so many seconds of silence; the first row that applies. */
type Silences = readonly (readonly [aboveTokens: number, seconds: number])[]

const STREAM: Silences = [
  [100_000, 300],
  [50_000, 240],
  [-1, 180],
]
const RESPONSES: Silences = [
  [100_000, 1200],
  [50_000, 900],
  [25_000, 600],
  [-1, 180],
]
const WHOLE: Silences = [
  [100_000, 240],
  [50_000, 150],
  [-1, 90],
]

function usualSilence({ wire, streaming }: TimeoutFacts, approxTokens: number): number {
  const table = wire === "codex_responses" ? RESPONSES : streaming ? STREAM : WHOLE
  return table.find(([above]) => approxTokens > above)?.[1] ?? 180
}

function seconds(environment: Environment, name: string): number | undefined {
  const value = Number(environment.get(name) ?? "")
  return value > 0 ? Math.min(value, LONGEST_SECONDS) : undefined
}

/** A timer of the runtime holds no more. */
const LONGEST_SECONDS = 2_000_000
