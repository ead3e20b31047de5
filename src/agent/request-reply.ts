import type { LlmFailure } from "../llm/failure/failure.ts"
import type { ModelReply } from "../llm/model.ts"
import { streamReply } from "./stream-reply.ts"
import type { ReplyRequest } from "./stream-reply.ts"
import { deliverLateSteer } from "./run-tool-calls.ts"
import type { Steps } from "./steps.ts"
import type { Turn } from "./turn.ts"
import { errorEnd, providerEnd, interruptedEnd } from "./turn-end.ts"
import type { Tally, TurnEnd } from "./turn-end.ts"

/**
 * Requests the reply of one iteration: checks the context window and the cost limit first, and compresses the conversation and
 * retries when the provider rejects the request as too long.
 */
export async function* requestReply(
  turn: Turn,
  progress: ReplyRequest & { readonly tally: Tally },
): Steps<{ readonly kind: "reply"; readonly reply: ModelReply } | { readonly kind: "end"; readonly end: TurnEnd }> {
  const { tally } = progress
  for (let attempt = 1; ; attempt += 1) {
    if (turn.signal.aborted) return { kind: "end", end: interruptedEnd("interrupted_by_user", tally) }
    const blocked = yield* turn.compression.beforeRequest(turn.model, turn.signal)
    if (blocked !== undefined) return { kind: "end", end: errorEnd(redacted(turn, blocked), tally) }
    await deliverLateSteer(turn)
    const refusal = await turn.spending.refusal(turn.model.runtime, turn.compression.estimatedRequestTokens())
    if (refusal !== undefined && !(yield* confirmSpending(turn, refusal)))
      return { kind: "end", end: costEnd(refusal, tally) }
    tally.apiCalls += 1
    yield { type: "status", kind: "iteration", text: "", iteration: turn.budget.used }
    const outcome = yield* streamReply(turn, progress)
    if (outcome.kind === "reply") return outcome
    if (outcome.kind === "aborted") return { kind: "end", end: interruptedEnd("interrupted_during_api_call", tally) }
    const { failure } = outcome
    // Another request would show the same text again.
    if (!failure.compress || progress.partial.hasReplyText())
      return { kind: "end", end: failedEnd(turn, failure, tally) }
    const unresolved = yield* turn.compression.afterOverflow({ failure, attempt, signal: turn.signal })
    if (unresolved !== undefined) return { kind: "end", end: errorEnd(redacted(turn, unresolved), tally) }
  }
}

function failedEnd(turn: Turn, failure: LlmFailure, tally: Tally): TurnEnd {
  // A 400 without a known reason is often an undetected overflow; the next turn starts with a shorter conversation.
  if (failure.status === 400 || failure.compress) turn.compression.compressBeforeNextTurn()
  return providerEnd(redacted(turn, failure), tally)
}

/** Some servers repeat a rejected API key in their error message. */
function redacted<T extends { readonly message: string }>(turn: Turn, error: T): T {
  return { ...error, message: turn.redact(error.message) }
}

/** Asks the user whether to exceed the cost limit of the session. Without a user the answer is no. */
async function* confirmSpending(turn: Turn, refusal: string): Steps<boolean> {
  const { permissions, clock } = turn.dispatch
  const { interactions } = turn
  if (!permissions.attended()) return false
  const requestId = interactions.nextId("spending")
  const timeoutMs = permissions.askTimeoutMs
  // Register the question before emitting the event: the answer may arrive during emit.
  const answering = interactions.wait({ id: requestId, kind: "approval", timeoutMs }, turn.signal)
  yield {
    type: "approval-request",
    requestId,
    kind: "tool",
    call: { id: requestId, name: "another model call", args: {} },
    description: refusal,
    rule: "model.max_session_cost_usd",
    choices: ["session", "deny"],
    expiresAt: timeoutMs > 0 ? (clock.now() + timeoutMs) / 1000 : null,
  }
  const answer = await answering
  const choice = typeof answer === "string" ? "deny" : answer.choice
  const by = typeof answer === "string" ? "noninteractive" : "user"
  yield { type: "status", kind: "answered", text: "", requestId, question: "approval", choice, by }
  if (choice === "deny") return false
  turn.spending.liftLimit()
  return true
}

function costEnd(message: string, tally: Tally): TurnEnd {
  return errorEnd({ exitReason: "cost_limit", code: "cost_limit", message }, tally)
}
