import { assertNever } from "../base/assert-never.ts"
import type { ModelReply } from "../llm/model.ts"
import type { Message } from "../protocol/message.ts"
import { endAtLimit } from "./end-at-limit.ts"
import { withoutDuplicates } from "./history.ts"
import { nextReply } from "./next-reply.ts"
import { createPatience, judgeReply } from "./reply-verdict.ts"
import type { Patience, Verdict } from "./reply-verdict.ts"
import { bill, say, storeReply, toMessage } from "./store-reply.ts"
import { runTools } from "./tool-round.ts"
import type { Steps, Turn } from "./turn.ts"
import { brokenEnd, completedEnd, createTally, errorEnd, guardrailEnd, isStoreError, stoppedEnd } from "./turn-end.ts"
import type { Tally, TurnEnd } from "./turn-end.ts"

/** What the rounds of a turn share. */
interface Progress {
  readonly tally: Tally
  readonly patience: Patience
  /** Sent behind the history until a reply is kept; never stored. */
  scaffold: readonly Message[]
  outputCap: number | undefined
  /** Rounds in which the model called a tool that does not exist. */
  unknownToolRounds: number
  faults: number
}

/** Refunded rounds go on for ever without a limit of their own. */
const MOST_CALLS_PER_ROUND = 4
const MAX_UNKNOWN_TOOL_ROUNDS = 3
/** A fault inside Hermes costs a round; a second one in a row is no accident. */
const MAX_FAULTS = 2

/** Never throws: what broke the turn is its end, with everything that was used until then. */
export async function* runTurn(turn: Turn): Steps<TurnEnd> {
  const progress: Progress = {
    tally: createTally(),
    patience: createPatience(),
    scaffold: [],
    outputCap: undefined,
    unknownToolRounds: 0,
    faults: 0,
  }
  try {
    yield* turn.compression.beforeTurn(turn.model, turn.signal)
    while (turn.budget.consume()) {
      if (progress.tally.apiCalls >= MOST_CALLS_PER_ROUND * turn.budget.max) break
      try {
        const end = yield* goRound(turn, progress)
        progress.faults = 0
        if (end !== undefined) return end
      } catch (error) {
        // A fault of ours in one round does not end the turn: calls without a result get one, and the model goes on.
        progress.faults += 1
        if (isStoreError(error) || progress.faults >= MAX_FAULTS || turn.budget.remaining === 0) throw error
        turn.report(error)
      }
    }
    return yield* endAtLimit(turn, progress)
  } catch (error) {
    return brokenEnd(error, progress.tally)
  }
}

/** One round: a request, and what its reply asks for. Undefined: the turn goes on. */
async function* goRound(turn: Turn, progress: Progress): Steps<TurnEnd | undefined> {
  const { tally } = progress
  const asked = yield* nextReply(turn, progress)
  if (asked.kind === "end") return asked.end
  const { reply } = asked
  const verdict = judgeReply(reply, progress.patience, {
    runtime: turn.model.runtime,
    afterTools: turn.conversation.history.at(-1)?.role === "tool",
    toolsUsed: tally.toolCalls > 0,
    requestedCap: turn.sampling.maxOutputTokens,
  })
  switch (verdict.kind) {
    case "again":
      await turn.journal.append([], await bill(turn, reply, tally))
      progress.scaffold = verdict.scaffold
      progress.outputCap = verdict.outputCap ?? progress.outputCap
      turn.budget.refund()
      return undefined
    case "give-up":
      await turn.journal.append([], await bill(turn, reply, tally))
      return yield* anotherModel(turn, progress, verdict)
    case "earlier-text":
      await turn.journal.append([], await bill(turn, reply, tally))
      return completedEnd({ exitReason: "fallback_prior_turn_content", text: turn.redact(verdict.text) }, tally)
    case "keep":
      return yield* keep(turn, progress, { reply, ...(verdict.partial === undefined ? {} : { partial: true }) })
    default:
      return assertNever(verdict)
  }
}

/** The next model of the chain gets a clean chance; without one the turn ends with what the verdict says. */
async function* anotherModel(
  turn: Turn,
  progress: Progress,
  verdict: Extract<Verdict, { kind: "give-up" }>,
): Steps<TurnEnd | undefined> {
  const mayHelp = verdict.code === "content_policy_blocked" || verdict.code === "empty_response"
  const next = mayHelp ? await turn.model.fallBack?.() : undefined
  if (next !== undefined) {
    yield { type: "status", kind: "fallback", text: turn.redact(`${verdict.message}; ${next}`) }
    Object.assign(progress.patience, createPatience())
    progress.scaffold = []
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

interface Kept {
  readonly reply: ModelReply
  readonly partial?: true
}

/** A reply that becomes part of the conversation: the answer, or calls to run. */
async function* keep(turn: Turn, progress: Progress, { reply, partial }: Kept): Steps<TurnEnd | undefined> {
  const { tally, patience } = progress
  const calls = withoutDuplicates(reply.toolCalls)
  const whole = patience.continued === "" ? reply : { ...reply, content: patience.continued + (reply.content ?? "") }
  yield* storeReply(turn, { message: toMessage(whole, calls, turn), reply: whole }, tally)
  progress.scaffold = []
  progress.outputCap = undefined
  Object.assign(patience, createPatience(), {
    earlierText: patience.earlierText,
    askedForAnswer: patience.askedForAnswer,
  })
  if (calls.length === 0) return answered(turn, { reply: whole, ...(partial === undefined ? {} : { partial }) }, tally)
  const batch = yield* runTools(turn, calls, tally)
  if (turn.signal.aborted) return stoppedEnd("interrupted_by_user", turn, tally)
  const said = whole.content?.trim() ?? ""
  patience.earlierText = batch.housekeepingOnly && said !== "" ? said : undefined
  const halt = turn.dispatch.guardrails?.halted()
  if (halt !== undefined) return yield* haltedEnd(turn, halt, tally)
  progress.unknownToolRounds += batch.unknownTools > 0 ? 1 : 0
  if (progress.unknownToolRounds >= MAX_UNKNOWN_TOOL_ROUNDS) return unknownToolsEnd(tally)
  if (calls.every((call) => call.function.name === "execute_code")) turn.budget.refund()
  yield* turn.compression.afterBatch(turn.signal)
  return undefined
}

function answered(turn: Turn, { reply, partial }: Kept, tally: Tally): TurnEnd {
  const exitReason =
    reply.ending === "cut-text" ? "partial_stream_recovery" : `text_response(finish_reason=${reply.finishReason})`
  const text = turn.redact(reply.content ?? "")
  return completedEnd({ exitReason, text, ...(partial === undefined ? {} : { partial }) }, tally)
}

/** The turn was going in circles; the person reads why, and so does the model in the next turn. */
async function* haltedEnd(
  turn: Turn,
  halt: NonNullable<ReturnType<NonNullable<Turn["dispatch"]["guardrails"]>["halted"]>>,
  tally: Tally,
): Steps<TurnEnd> {
  const text = `I stopped: ${halt.message}`
  await say(turn, text)
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
