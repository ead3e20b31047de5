import type { LlmFailure } from "../llm/failure/failure.ts"
import type { ModelReply } from "../llm/model.ts"
import { askModel } from "./ask-model.ts"
import type { Ask } from "./ask-model.ts"
import { deliverLateSteer } from "./tool-round.ts"
import type { Steps, Turn } from "./turn.ts"
import { errorEnd, providerEnd, stoppedEnd } from "./turn-end.ts"
import type { Tally, TurnEnd } from "./turn-end.ts"

/** Asks, and makes the conversation shorter where the provider finds it too long. */
export async function* nextReply(
  turn: Turn,
  progress: Ask & { readonly tally: Tally },
): Steps<{ readonly kind: "reply"; readonly reply: ModelReply } | { readonly kind: "end"; readonly end: TurnEnd }> {
  const { tally } = progress
  for (let shortened = 0; ; shortened += 1) {
    if (turn.signal.aborted) return { kind: "end", end: stoppedEnd("interrupted_by_user", turn, tally) }
    const impossible = yield* turn.compression.beforeRequest(turn.model, turn.signal)
    if (impossible !== undefined) return { kind: "end", end: errorEnd(masked(turn, impossible), tally) }
    await deliverLateSteer(turn)
    const refusal = await turn.spending.refusal(turn.model.runtime, turn.compression.requestTokens())
    if (refusal !== undefined && !(yield* mayGoOn(turn, refusal))) return { kind: "end", end: costEnd(refusal, tally) }
    tally.apiCalls += 1
    yield { type: "status", kind: "iteration", text: "", iteration: turn.budget.used }
    const outcome = yield* askModel(turn, progress)
    if (outcome.kind === "reply") return outcome
    if (outcome.kind === "aborted") return { kind: "end", end: stoppedEnd("interrupted_during_api_call", turn, tally) }
    const { failure } = outcome
    if (!failure.compress) return { kind: "end", end: failedEnd(turn, failure, tally) }
    const relief = yield* turn.compression.afterRefusal({ failure, attempt: shortened + 1, signal: turn.signal })
    if (relief !== undefined) return { kind: "end", end: errorEnd(masked(turn, relief), tally) }
  }
}

function failedEnd(turn: Turn, failure: LlmFailure, tally: Tally): TurnEnd {
  // A request that is refused without a reason is refused again, unless the next turn sends less.
  if (failure.status === 400) turn.compression.distrustNextRequest()
  return providerEnd(masked(turn, failure), tally)
}

/** Servers repeat the key that they refuse. */
function masked<T extends { readonly message: string }>(turn: Turn, said: T): T {
  return { ...said, message: turn.redact(said.message) }
}

/** At the limit of a session's cost the person decides, where one is there. */
async function* mayGoOn(turn: Turn, refusal: string): Steps<boolean> {
  const { interactions, permissions, clock } = turn.dispatch
  if (!permissions.attended) return false
  const requestId = interactions.nextId("spending")
  const timeoutMs = permissions.askTimeoutMs
  // The question is open before anybody hears of it: an answer may come while the event is being delivered.
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
  turn.spending.lift()
  return true
}

function costEnd(message: string, tally: Tally): TurnEnd {
  return errorEnd({ exitReason: "cost_limit", code: "cost_limit", message }, tally)
}
