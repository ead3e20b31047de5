import { assertNever } from "../base/assert-never.ts"
import { errorMessage } from "../base/system-error.ts"
import type { ModelReply } from "../llm/model.ts"
import { contentText } from "../protocol/message.ts"
import type { Message } from "../protocol/message.ts"
import { finishAtIterationLimit } from "./iteration-limit.ts"
import { withoutDuplicateCalls } from "./history-repair.ts"
import { continueInNewParagraph, createPartialReply, discardAnswer, discardReply } from "./partial-reply.ts"
import type { PartialReply } from "./partial-reply.ts"
import { requestReply } from "./request-reply.ts"
import { createRetryState, judgeReply, repeatsEarlierReply } from "./reply-acceptance.ts"
import type { RetryState, ReplyVerdict } from "./reply-acceptance.ts"
import { recordUsage, storeAssistantText, storeReply, toAssistantMessage } from "./store-reply.ts"
import { runToolCalls } from "./run-tool-calls.ts"
import type { Steps } from "./steps.ts"
import type { Turn } from "./turn.ts"
import {
  faultEnd,
  completedEnd,
  createTally,
  errorEnd,
  guardrailEnd,
  isStoreError,
  interruptedEnd,
} from "./turn-end.ts"
import type { Tally, TurnEnd } from "./turn-end.ts"

/** What the iterations of a turn share. */
interface TurnProgress {
  readonly tally: Tally
  readonly partial: PartialReply
  retryState: RetryState
  /** Sent after the history until a reply is kept; never stored. */
  temporaryMessages: readonly Message[]
  maxOutputTokens: number | undefined
  /** Iterations in which the model called a tool that does not exist. */
  unknownToolIterations: number
  faults: number
}

/** Retries are refunded to the iteration budget, so requests need a limit as well. */
const MAX_REQUESTS_PER_ITERATION = 4
const MAX_UNKNOWN_TOOL_ITERATIONS = 3
/** Consecutive iterations that may fail inside Hermes before the turn ends. */
const MAX_FAULTS = 2

/**
 * The agent loop: requests a reply, runs its tool calls and repeats until the model answers with text, a limit is reached or the
 * user interrupts. Never throws: a fault becomes the end of the turn, with the usage up to then. What was shown is stored, however
 * the turn ends.
 */
export async function* runTurn(turn: Turn): Steps<TurnEnd> {
  const partial = createPartialReply(turn)
  let isRead = false
  try {
    const end = yield* iterate(turn, partial)
    isRead = true
    return yield* storePartialReply(turn, { end, partial })
  } finally {
    // The consumer has stopped reading the events.
    const unread = isRead ? undefined : partial.message("interrupted")
    partial.clear()
    if (unread !== undefined) await turn.conversation.append([unread])
  }
}

async function* iterate(turn: Turn, partial: PartialReply): Steps<TurnEnd> {
  const progress: TurnProgress = {
    tally: createTally(),
    partial,
    retryState: createRetryState(),
    temporaryMessages: [],
    maxOutputTokens: undefined,
    unknownToolIterations: 0,
    faults: 0,
  }
  try {
    yield* turn.compression.beforeTurn(turn.model, turn.signal)
    while (turn.budget.consume()) {
      if (progress.tally.apiCalls >= MAX_REQUESTS_PER_ITERATION * turn.budget.max) break
      try {
        const end = yield* runIteration(turn, progress)
        progress.faults = 0
        if (end !== undefined) return end
      } catch (error) {
        // The next request adds a result to every call that has none, so the model can continue.
        progress.faults += 1
        if (isStoreError(error) || progress.faults >= MAX_FAULTS || turn.budget.remaining === 0) throw error
        turn.log.error(`an iteration failed; the turn continues: ${errorMessage(error)}`)
        yield* discardReply(partial, "an error inside Hermes; asking the model again")
      }
    }
    return yield* finishAtIterationLimit(turn, progress)
  } catch (error) {
    return faultEnd(error, progress.tally)
  }
}

/** Stores what was shown of an answer without an end, so that the next request contains it. */
async function* storePartialReply(
  turn: Turn,
  { end, partial }: { readonly end: TurnEnd; readonly partial: PartialReply },
): Steps<TurnEnd> {
  const isInterrupted = end.outcome === "interrupted"
  const finishReason = isInterrupted ? "interrupted" : "incomplete"
  const message = partial.message(finishReason)
  // After a failure of the store nothing else is stored.
  if (message === undefined || end.exitReason === "storage_failed") return end
  partial.clear()
  try {
    await turn.conversation.append([message])
  } catch (error) {
    turn.log.error(`an unfinished reply could not be saved: ${errorMessage(error)}`)
    return end
  }
  const text = contentText(message.content)
  yield {
    type: "message-end",
    streamed: true,
    message: { id: `${turn.runId}.${end.totals.apiCalls}`, role: "assistant", text, finishReason, toolCalls: [] },
  }
  return isInterrupted ? { ...end, finalResponse: text } : end
}

/** One model request and its tool calls. Returns undefined when the turn continues. */
async function* runIteration(turn: Turn, progress: TurnProgress): Steps<TurnEnd | undefined> {
  const { tally, partial } = progress
  const response = yield* requestReply(turn, progress)
  if (response.kind === "end") return response.end
  const { reply } = response
  const verdict = judgeReply(reply, progress.retryState, {
    runtime: turn.model.runtime,
    afterTools: turn.conversation.history.at(-1)?.role === "tool",
    toolsUsed: tally.toolCalls > 0,
    configuredMaxOutputTokens: turn.sampling.maxOutputTokens,
  })
  switch (verdict.kind) {
    case "retry":
      await turn.conversation.append([], await recordUsage(turn, reply, tally))
      progress.temporaryMessages = verdict.temporaryMessages
      progress.maxOutputTokens = verdict.maxOutputTokens ?? progress.maxOutputTokens
      if (verdict.text?.kind === "discarded") yield* discardReply(partial, verdict.text.reason)
      if (verdict.text?.kind === "paragraph") yield* continueInNewParagraph(partial)
      turn.budget.refund()
      return undefined
    case "give-up":
      await turn.conversation.append([], await recordUsage(turn, reply, tally))
      return yield* tryFallbackModel(turn, progress, verdict)
    case "earlier-text":
      await turn.conversation.append([], await recordUsage(turn, reply, tally))
      return completedEnd({ exitReason: "fallback_prior_turn_content", text: turn.redact(verdict.text) }, tally)
    case "keep":
      return yield* keepReply(turn, progress, { reply, ...(verdict.partial === undefined ? {} : { partial: true }) })
    default:
      return assertNever(verdict)
  }
}

/** Continues with the next fallback model and fresh retry counts; without one the turn ends with the error of the verdict. */
async function* tryFallbackModel(
  turn: Turn,
  progress: TurnProgress,
  verdict: Extract<ReplyVerdict, { kind: "give-up" }>,
): Steps<TurnEnd | undefined> {
  const mayHelp = verdict.code === "content_policy_blocked" || verdict.code === "empty_response"
  const next = mayHelp ? await turn.model.fallBack?.() : undefined
  if (next !== undefined) {
    yield { type: "status", kind: "fallback", text: turn.redact(`${verdict.message}; ${next}`) }
    yield* discardAnswer(progress.partial, "another model answers instead")
    progress.retryState = createRetryState()
    progress.temporaryMessages = []
    turn.budget.refund()
    return undefined
  }
  const blocked = verdict.code === "content_policy_blocked"
  return errorEnd(
    {
      exitReason: blocked ? "all_retries_exhausted_no_response" : "empty_response_exhausted",
      code: verdict.code,
      reason: blocked ? "content_policy_blocked" : "unknown",
      message: turn.redact([verdict.message, ...(verdict.advice === undefined ? [] : [verdict.advice])].join("; ")),
      retryable: !blocked,
    },
    progress.tally,
  )
}

interface KeptReply {
  readonly reply: ModelReply
  readonly partial?: true
}

/** Stores a reply in the conversation and runs its tool calls. Without calls it is the answer. */
async function* keepReply(
  turn: Turn,
  progress: TurnProgress,
  { reply, partial }: KeptReply,
): Steps<TurnEnd | undefined> {
  const { tally, retryState } = progress
  const calls = withoutDuplicateCalls(reply.toolCalls)
  const whole = withEarlierReplies(reply, retryState)
  yield* storeReply(turn, { message: toAssistantMessage(whole, calls, turn), reply: whole }, progress)
  progress.temporaryMessages = []
  progress.maxOutputTokens = undefined
  const { earlierText, answerRequested } = retryState
  progress.retryState = { ...createRetryState(), earlierText, answerRequested }
  if (calls.length === 0)
    return answeredEnd(turn, { reply: whole, ...(partial === undefined ? {} : { partial }) }, tally)
  const batch = yield* runToolCalls(turn, calls, tally)
  if (turn.signal.aborted) return interruptedEnd("interrupted_by_user", tally)
  // One script does the work of many calls and should not be saved for lack of iterations.
  if (batch.scriptsOnly) turn.budget.refund()
  const text = whole.content?.trim() ?? ""
  progress.retryState.earlierText = batch.housekeepingOnly && text !== "" ? text : undefined
  const halt = turn.dispatch.guardrails?.halted()
  if (halt !== undefined) return yield* haltedEnd(turn, halt, tally)
  progress.unknownToolIterations += batch.unknownTools > 0 ? 1 : 0
  if (progress.unknownToolIterations >= MAX_UNKNOWN_TOOL_ITERATIONS) return unknownToolsEnd(tally)
  yield* turn.compression.afterToolResults(turn.signal)
  return undefined
}

/** Adds the text of earlier replies that this one continues. */
function withEarlierReplies(reply: ModelReply, state: RetryState): ModelReply {
  const { earlierReplies } = state
  if (earlierReplies === "") return reply
  const rest = repeatsEarlierReply(reply, state) ? "" : (reply.content ?? "")
  // The blocks contain only the text of the last reply and would be sent instead of the whole.
  const { anthropic_content_blocks: _blocks, ...carriers } = reply.carriers
  return { ...reply, carriers, content: (earlierReplies + rest).trimEnd() }
}

function answeredEnd(turn: Turn, { reply, partial }: KeptReply, tally: Tally): TurnEnd {
  const exitReason =
    reply.ending === "cut-text" ? "partial_stream_recovery" : `text_response(finish_reason=${reply.finishReason})`
  const text = turn.redact(reply.content ?? "")
  return completedEnd({ exitReason, text, ...(partial === undefined ? {} : { partial }) }, tally)
}

/** The model repeated itself. The reason is stored, so the user reads it now and the model in the next turn. */
async function* haltedEnd(
  turn: Turn,
  halt: NonNullable<ReturnType<NonNullable<Turn["dispatch"]["guardrails"]>["halted"]>>,
  tally: Tally,
): Steps<TurnEnd> {
  const text = `I stopped: ${halt.message}`
  await storeAssistantText(turn, text)
  yield { type: "status", kind: "warning", text: turn.redact(halt.message) }
  return guardrailEnd(halt, text, tally)
}

function unknownToolsEnd(tally: Tally): TurnEnd {
  return errorEnd(
    {
      exitReason: "all_retries_exhausted_no_response",
      code: "unknown_tools",
      message: "the model kept calling tools that do not exist",
      retryable: true,
    },
    tally,
  )
}
