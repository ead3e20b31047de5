import { errorMessage } from "../base/system-error.ts"
import type { LlmFailure } from "../llm/failure/failure.ts"
import type { RunError, RunOutcome } from "../protocol/events.ts"
import type { Usage } from "../protocol/usage.ts"
import { NO_USAGE } from "../protocol/usage.ts"
import type { GuardrailDecision } from "./dispatch/guardrails.ts"

export interface TurnEnd {
  readonly outcome: RunOutcome
  readonly exitReason: string
  readonly finalResponse: string | null
  readonly error?: RunError
  /** The answer was cut off. */
  readonly partial?: true
  readonly totals: TurnTotals
}

export interface TurnTotals {
  readonly apiCalls: number
  readonly toolCalls: number
  readonly usage: Usage
  readonly filesChanged: readonly string[]
  /** Files that a tool failed to write in this turn. */
  readonly failedWrites: readonly string[]
}

/** Running totals of a turn. */
export interface Tally {
  apiCalls: number
  toolCalls: number
  usage: Usage
  readonly filesChanged: Set<string>
  readonly failedWrites: Set<string>
}

export function createTally(): Tally {
  return {
    apiCalls: 0,
    toolCalls: 0,
    usage: NO_USAGE,
    filesChanged: new Set(),
    failedWrites: new Set(),
  }
}

export function totals(tally: Tally): TurnTotals {
  return { ...tally, filesChanged: [...tally.filesChanged], failedWrites: [...tally.failedWrites] }
}

export function completedEnd(
  answer: { readonly exitReason: string; readonly text: string; readonly partial?: true },
  tally: Tally,
): TurnEnd {
  const { exitReason, text, partial } = answer
  return {
    outcome: "completed",
    exitReason,
    finalResponse: text,
    ...(partial === undefined ? {} : { partial }),
    totals: totals(tally),
  }
}

export function interruptedEnd(exitReason: string, tally: Tally): TurnEnd {
  return { outcome: "interrupted", exitReason, finalResponse: null, totals: totals(tally) }
}

export function limitEnd(
  limit: { readonly used: number; readonly max: number },
  finalResponse: string,
  tally: Tally,
): TurnEnd {
  return {
    outcome: "max-turns",
    exitReason: `max_iterations_reached(${limit.used}/${limit.max})`,
    finalResponse,
    totals: totals(tally),
  }
}

export function providerEnd({ reason, message, retryable }: LlmFailure, tally: Tally): TurnEnd {
  return errorEnd(
    { exitReason: "all_retries_exhausted_no_response", code: "provider_error", reason, message, retryable },
    tally,
  )
}

export function guardrailEnd(decision: GuardrailDecision, finalResponse: string, tally: Tally): TurnEnd {
  const end = errorEnd(
    { exitReason: "guardrail_halt", code: "guardrail_halt", reason: decision.code, message: decision.message },
    tally,
  )
  return { ...end, finalResponse }
}

/** An end without an answer; `code` is for scripts, `message` for users. */
export function errorEnd(
  failure: {
    readonly exitReason: string
    readonly code: string
    readonly message: string
    readonly reason?: string
    readonly retryable?: boolean
  },
  tally: Tally,
): TurnEnd {
  const { exitReason, code, message, reason = code, retryable = false } = failure
  return {
    outcome: "error",
    exitReason,
    finalResponse: null,
    error: { code, reason, message, retryable },
    totals: totals(tally),
  }
}

/** An unexpected error: the store failed, or a bug in Hermes. */
export function faultEnd(error: unknown, tally: Tally): TurnEnd {
  const storage = isStoreError(error)
  const message = storage
    ? `the run was stopped because the conversation could not be saved: ${errorMessage(error)}`
    : `internal error in Hermes: ${errorMessage(error)}`
  return errorEnd(
    {
      exitReason: storage ? "storage_failed" : "error_near_max_iterations",
      code: storage ? "storage_failed" : "internal_error",
      reason: "unknown",
      message,
    },
    tally,
  )
}

export function isStoreError(error: unknown): boolean {
  return error instanceof Error && error.name === "StoreError"
}
