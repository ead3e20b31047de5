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
const FIRST_BYTE_SECONDS = 120
/** From here on the Responses wire may be silent for as long as it needs before it begins. */
const LONG_THOUGHT_TOKENS = 25_000

/** The limits for a request of about this many tokens. What the settings say beats the variables, and both beat the table. */
export function requestTimeouts(facts: TimeoutFacts, approxTokens: number): HttpTimeouts {
  const { environment, local, wire } = facts
  const totalMs = 1000 * (facts.requestSeconds ?? seconds(environment, "HERMES_API_TIMEOUT") ?? TOTAL_SECONDS)
  if (local) return { connectMs: 2000 * CONNECT_SECONDS, idleMs: 0, totalMs }
  const variable = facts.streaming ? "HERMES_STREAM_STALE_TIMEOUT" : "HERMES_API_CALL_STALE_TIMEOUT"
  const idleMs = 1000 * (facts.staleSeconds ?? seconds(environment, variable) ?? usualSilence(facts, approxTokens))
  const unhurried = wire === "codex_responses" && approxTokens >= LONG_THOUGHT_TOKENS
  const firstByteMs = unhurried ? idleMs : Math.max(1000 * FIRST_BYTE_SECONDS, idleMs)
  return { connectMs: 1000 * CONNECT_SECONDS, firstByteMs, idleMs, totalMs }
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
