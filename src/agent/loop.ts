import { assertNever } from "../base/assert-never.ts"
import type { LlmFailure } from "../llm/failure/failure.ts"
import type { ModelReply } from "../llm/model.ts"
import type { AgentEventBody } from "../protocol/events.ts"
import { contentText } from "../protocol/message.ts"
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts"
import { NO_USAGE, addUsage, promptTokens, worseStatus } from "../protocol/usage.ts"
import { STEER_CLOSING, STEER_OPENING } from "../toolkit/untrusted.ts"
import { askModel } from "./ask-model.ts"
import { budgetLine } from "./budget-line.ts"
import type { BatchReport } from "./dispatch/batch.ts"
import { withoutDuplicates } from "./history.ts"
import type { BilledCall } from "./journal.ts"
import { redactArgumentText } from "./redact-arguments.ts"
import { createPatience, judgeReply } from "./reply-verdict.ts"
import type { Patience, Verdict } from "./reply-verdict.ts"
import type { Turn } from "./turn.ts"
import {
  brokenEnd,
  completedEnd,
  createTally,
  errorEnd,
  guardrailEnd,
  interruptedEnd,
  isStoreError,
  limitEnd,
  providerEnd,
} from "./turn-end.ts"
import type { Tally, TurnEnd } from "./turn-end.ts"

type Steps<Value> = AsyncGenerator<AgentEventBody, Value, void>

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
    return yield* finishAtLimit(turn, progress)
  } catch (error) {
    return brokenEnd(error, progress.tally)
  }
}

/** One round: a request, and what its reply asks for. Undefined: the turn goes on. */
async function* goRound(turn: Turn, progress: Progress): Steps<TurnEnd | undefined> {
  const { tally } = progress
  const asked = yield* request(turn, progress)
  if (asked.kind === "end") return asked.end
  const { reply } = asked
  const verdict = judgeReply(reply, progress.patience, {
    wire: turn.model.runtime.wire,
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

/** Asks, and makes the conversation shorter where the provider finds it too long. */
async function* request(
  turn: Turn,
  progress: Progress,
): Steps<{ readonly kind: "reply"; readonly reply: ModelReply } | { readonly kind: "end"; readonly end: TurnEnd }> {
  const { tally } = progress
  for (let shortened = 0; ; shortened += 1) {
    if (turn.signal.aborted) return { kind: "end", end: stopped("interrupted_by_user", turn, tally) }
    yield* turn.compression.beforeRequest(turn.model.runtime, turn.signal)
    await deliverLateSteer(turn)
    const refusal = await turn.spending.refusal(turn.model.runtime, turn.compression.requestTokens())
    if (refusal !== undefined && !(yield* mayGoOn(turn, refusal))) return { kind: "end", end: costEnd(refusal, tally) }
    tally.apiCalls += 1
    yield { type: "status", kind: "iteration", text: "", iteration: turn.budget.used }
    const outcome = yield* askModel(turn, progress)
    if (outcome.kind === "reply") return outcome
    if (outcome.kind === "aborted") return { kind: "end", end: stopped("interrupted_during_api_call", turn, tally) }
    const { failure } = outcome
    if (!failure.compress) return { kind: "end", end: failedEnd(turn, failure, tally) }
    const relief = yield* turn.compression.afterRefusal({ failure, attempt: shortened + 1, signal: turn.signal })
    if (relief !== undefined) return { kind: "end", end: errorEnd(relief, tally) }
  }
}

function failedEnd(turn: Turn, failure: LlmFailure, tally: Tally): TurnEnd {
  // A request that is refused without a reason is refused again, unless the next turn sends less.
  if (failure.status === 400) turn.compression.distrustNextRequest()
  return providerEnd(failure, tally)
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
      message: turn.redact(verdict.message),
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
  yield* store(turn, { message: toMessage(whole, calls, turn), reply: whole }, tally)
  progress.scaffold = []
  progress.outputCap = undefined
  Object.assign(patience, createPatience(), {
    earlierText: patience.earlierText,
    askedForAnswer: patience.askedForAnswer,
  })
  if (calls.length === 0) return answered(turn, { reply: whole, ...(partial === undefined ? {} : { partial }) }, tally)
  const batch = yield* runTools(turn, calls, tally)
  if (turn.signal.aborted) return stopped("interrupted_by_user", turn, tally)
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

/**
 * The budget is used up. A model that was in the middle of its work gets one more request, in which it is told that the next
 * reply is the last; one that still calls tools is asked for a summary without any.
 */
async function* finishAtLimit(turn: Turn, progress: Progress): Steps<TurnEnd> {
  const { tally } = progress
  const last = turn.conversation.history.at(-1)
  const limit = { used: turn.budget.used, max: turn.budget.max }
  if (last?.role === "tool") {
    await appendToResult(turn, last, limitNote(turn.budget.max))
    const asked = yield* request(turn, progress)
    if (asked.kind === "end") return asked.end
    const text = asked.reply.toolCalls.length === 0 ? (asked.reply.content?.trim() ?? "") : ""
    if (text !== "" && asked.reply.ending !== "cut-call") return yield* lastWords(turn, asked.reply, { limit, tally })
    await turn.journal.append([], await bill(turn, asked.reply, tally))
  }
  const summary: Message = { role: "user", content: summaryRequest(turn.budget.max), synthetic: "max_iterations" }
  for (let attempt = 0; attempt < 2; attempt += 1) {
    if (turn.signal.aborted) return stopped("interrupted_by_user", turn, tally)
    tally.apiCalls += 1
    const outcome = yield* askModel(turn, { scaffold: [summary], outputCap: undefined, toolChoice: "none" })
    if (outcome.kind === "aborted") return stopped("interrupted_during_api_call", turn, tally)
    if (outcome.kind === "failed") break
    if ((outcome.reply.content?.trim() ?? "") !== "") return yield* lastWords(turn, outcome.reply, { limit, tally })
    await turn.journal.append([], await bill(turn, outcome.reply, tally))
  }
  const text = `I stopped because the limit of ${limit.max} rounds for one turn is reached. Say "continue" to go on.`
  await say(turn, text)
  return limitEnd(limit, text, tally)
}

async function* lastWords(
  turn: Turn,
  reply: ModelReply,
  end: { readonly limit: { readonly used: number; readonly max: number }; readonly tally: Tally },
): Steps<TurnEnd> {
  const message = toMessage({ ...reply, toolCalls: [] }, [], turn)
  yield* store(turn, { message, reply }, end.tally)
  return limitEnd(end.limit, contentText(message.content), end.tally)
}

function limitNote(max: number): string {
  return `[The limit of ${max} rounds for this turn is reached. No further tool call will run: your next reply must be the final answer.]`
}

function summaryRequest(max: number): string {
  return `[The limit of ${max} rounds for this turn is reached and no tool can be used any more. Say in a few sentences what you found and did, and what is left to do.]`
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

/** Words of Hermes itself that end a turn, so that the next one begins behind an answer. */
async function say(turn: Turn, content: string): Promise<void> {
  const message: AssistantMessage = { role: "assistant", content, finish_reason: "stop" }
  await turn.journal.append([message])
  turn.conversation.history.push(message)
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

/** The reply is durable before any of its calls runs and before anybody is told that it is complete. */
async function* store(
  turn: Turn,
  { message, reply }: { readonly message: AssistantMessage; readonly reply: ModelReply },
  tally: Tally,
): Steps<void> {
  const call = await bill(turn, reply, tally)
  const { usage, cost } = call
  await turn.journal.append([message], call)
  turn.conversation.history.push(message)
  yield {
    type: "message-end",
    streamed: true,
    message: {
      id: `${turn.runId}.${tally.apiCalls}`,
      role: "assistant",
      text: typeof message.content === "string" ? message.content : "",
      finishReason: reply.finishReason,
      toolCalls: message.tool_calls ?? [],
    },
  }
  yield {
    type: "usage",
    usage,
    contextTokens: promptTokens(usage) + usage.output,
    contextLength: turn.model.runtime.contextLength,
    ...(cost.usd === null ? {} : { costUsd: cost.usd }),
  }
  const warning = turn.spending.warning()
  if (warning !== undefined) yield { type: "status", kind: "notice", key: "spending", text: warning }
}

/** Adds a call to what the turn has used. One price that nobody knows makes the whole unknown, never cheaper. */
async function bill(turn: Turn, reply: ModelReply, tally: Tally): Promise<BilledCall> {
  const usage = reply.usage ?? NO_USAGE
  const cost = await turn.spending.record(turn.model.runtime, reply.usage)
  turn.compression.noteUsage(reply.usage)
  tally.usage = addUsage(tally.usage, usage)
  tally.costUsd = tally.costUsd === null || cost.usd === null ? null : tally.costUsd + cost.usd
  tally.costStatus = worseStatus(tally.costStatus, cost.status)
  return { usage, cost, runtime: turn.model.runtime }
}

async function* runTools(turn: Turn, calls: readonly ToolCall[], tally: Tally): Steps<BatchReport> {
  tally.toolCalls += calls.length
  const last = calls.at(-1)?.id
  let noted: { readonly given: ToolMessage; readonly stored: ToolMessage; readonly note: string } | undefined
  // A turn without tools never pays for the door.
  const { runBatch } = await import("./dispatch/batch.ts")
  const batch = runBatch(calls, {
    ...turn.dispatch,
    record: async (given) => {
      const note = given.tool_call_id === last && !turn.signal.aborted ? noteFor(turn) : ""
      const stored = note === "" ? given : withText(given, note)
      await turn.journal.append([stored])
      turn.conversation.history.push(stored)
      if (note !== "") noted = { given, stored, note }
    },
  })
  for (;;) {
    const step = await batch.next()
    if (step.done === true) {
      for (const path of step.value.failedWrites) tally.failedWrites.add(path)
      const shorter = [...step.value.reshaped].map(([sent, given]): [Message, Message] =>
        given === noted?.given && sent.role === "tool" ? [withText(sent, noted.note), noted.stored] : [sent, given],
      )
      await replaceInHistory(turn, new Map(shorter))
      return step.value
    }
    const event = step.value
    if (event.type === "tool-end") {
      for (const path of event.filesChanged ?? []) {
        tally.filesChanged.add(path)
        tally.failedWrites.delete(path)
      }
    }
    yield event
  }
}

/** What the last result of a batch carries besides: how much of the budget is used, and a note of the person. */
function noteFor(turn: Turn): string {
  const pressure = turn.budgetPressure ? budgetLine(turn.budget) : undefined
  const steer = turn.steering.take()
  return [pressure, steer === undefined ? undefined : steerBlock(steer)]
    .filter((note) => note !== undefined)
    .join("\n\n")
}

/** A note that came after the batch: it travels with its last result, which no request has carried yet. */
async function deliverLateSteer(turn: Turn): Promise<void> {
  const last = turn.conversation.history.at(-1)
  if (last?.role !== "tool") return
  const note = turn.steering.take()
  if (note !== undefined) await appendToResult(turn, last, steerBlock(note))
}

async function appendToResult(turn: Turn, last: ToolMessage, text: string): Promise<void> {
  await replaceInHistory(turn, new Map([[withText(last, text), last]]))
}

/** Messages that no request has carried yet are sent in another form (new form → former form). */
async function replaceInHistory(turn: Turn, changes: ReadonlyMap<Message, Message>): Promise<void> {
  if (changes.size === 0) return
  await turn.journal.reshape(changes)
  const { history } = turn.conversation
  for (const [changed, former] of changes) {
    const place = history.lastIndexOf(former)
    if (place !== -1) history[place] = changed
  }
}

/** In a form no tool output can forge. */
function steerBlock(note: string): string {
  return `${STEER_OPENING}\n${note}\n${STEER_CLOSING}`
}

function withText(message: ToolMessage, text: string): ToolMessage {
  return typeof message.content === "string"
    ? { ...message, content: `${message.content}\n\n${text}` }
    : { ...message, content: [...message.content, { type: "text", text }] }
}

/** What is stored and sent again. Secrets are masked here; the calls themselves run with what the model wrote. */
function toMessage(reply: ModelReply, calls: readonly ToolCall[], turn: Turn): AssistantMessage {
  return {
    role: "assistant",
    content: reply.content === null ? null : turn.redact(reply.content),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => withMaskedArguments(call, turn)) }),
    ...(reply.reasoning === null ? {} : { reasoning: turn.redact(reply.reasoning) }),
    ...reply.carriers,
    finish_reason: reply.finishReason,
  }
}

function withMaskedArguments(call: ToolCall, turn: Turn): ToolCall {
  const masked = redactArgumentText(call.function.arguments, (text) => turn.redact(text, { codeFile: true }))
  return masked === call.function.arguments ? call : { ...call, function: { ...call.function, arguments: masked } }
}

/** What the person wanted added to a turn they then stopped is dropped with it. */
function stopped(exitReason: string, turn: Turn, tally: Tally): TurnEnd {
  turn.steering.take()
  return interruptedEnd(exitReason, tally)
}
