import type { ModelClient, ModelOutcome, ModelReply, ModelRuntime, Sampling } from "../llm/model.ts"
import type { AgentEventBody, RunError, RunOutcome } from "../protocol/events.ts"
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import { NO_USAGE, addUsage, promptTokens } from "../protocol/usage.ts"
import type { CostStatus, Usage } from "../protocol/usage.ts"
import { errorMessage } from "../base/system-error.ts"
import { mendBrokenCalls } from "../toolkit/call-history-repair.ts"
import { STEER_CLOSING, STEER_OPENING } from "../toolkit/untrusted.ts"
import { runBatch } from "./dispatch/batch.ts"
import type { BatchOptions } from "./dispatch/batch.ts"
import { repairSequence, withEveryCallSettled, withoutDuplicates } from "./history.ts"
import type { IterationBudget } from "./iteration-budget.ts"
import type { CallCost, Spending } from "./spending.ts"
import { redactArgumentText } from "./redact-arguments.ts"

/** One turn: what the person said is stored already; the loop goes round until the model answers with text. */
export interface Turn {
  readonly runId: string
  readonly model: ModelClient
  readonly system: string
  readonly tools: readonly ToolDefinition[]
  /** The conversation so far; the loop appends to it what it has stored. */
  readonly history: Message[]
  readonly journal: Journal
  readonly dispatch: Omit<BatchOptions, "record">
  readonly budget: IterationBudget
  readonly steering: Steering
  readonly spending: Spending
  readonly sampling: Sampling
  readonly signal: AbortSignal
  readonly redact: (text: string, options?: { readonly codeFile?: boolean }) => string
}

/** Persist, then proceed (law 2): nothing depends on a message before `append` has resolved. It rejects when storing failed. */
export interface Journal {
  append(messages: readonly Message[], call?: BilledCall): Promise<void>
}

/** One model call as the session's totals count it. */
export interface BilledCall {
  readonly usage: Usage
  readonly cost: CallCost
  /** Who answered: the first choice, or what took its place. */
  readonly runtime: ModelRuntime
}

/** Notes of the person for the running turn. */
export interface Steering {
  take(): string | undefined
}

export interface TurnEnd {
  readonly outcome: RunOutcome
  readonly exitReason: string
  readonly finalResponse: string | null
  readonly error?: RunError
  readonly totals: TurnTotals
}

export interface TurnTotals {
  readonly apiCalls: number
  readonly toolCalls: number
  readonly usage: Usage
  readonly filesChanged: readonly string[]
  readonly costUsd: number | null
  readonly costStatus: CostStatus
}

/** A reply that holds nothing is asked for again this many times. */
const MAX_EMPTY_REPLIES = 3
/** A reply that was cut inside a tool call is asked for again this many times. */
const MAX_CUT_CALLS = 3

/** Never throws: what broke the turn is its end, with everything that was used until then. */
export async function* runTurn(turn: Turn): AsyncGenerator<AgentEventBody, TurnEnd, void> {
  const tally = createTally()
  try {
    return yield* goRound(turn, tally)
  } catch (error) {
    return brokenEnd(error, totals(tally))
  }
}

async function* goRound(turn: Turn, tally: Tally): AsyncGenerator<AgentEventBody, TurnEnd, void> {
  let wasted = 0
  while (turn.budget.consume()) {
    if (turn.signal.aborted) return interruptedEnd("interrupted_by_user", turn, tally)
    const refusal = await turn.spending.refusal(turn.model.runtime, tally.nextPromptTokens)
    if (refusal !== undefined && !(yield* mayGoOn(turn, refusal))) return costLimitEnd(refusal, tally)
    tally.apiCalls += 1
    yield { type: "status", kind: "iteration", text: "", iteration: turn.budget.used }
    const outcome = yield* askModel(turn)
    if (outcome.kind === "aborted") return interruptedEnd("interrupted_during_api_call", turn, tally)
    if (outcome.kind === "failed") return failedEnd(outcome, tally)
    const { reply } = outcome
    if (reply.finishReason === "content_filter") {
      await turn.journal.append([], await count(turn, reply, tally))
      return filteredEnd(reply, tally)
    }
    if (isWorthless(reply)) {
      await turn.journal.append([], await count(turn, reply, tally))
      wasted += 1
      if (wasted < (reply.ending === "cut-call" ? MAX_CUT_CALLS : MAX_EMPTY_REPLIES)) continue
      return emptyEnd(reply, tally)
    }
    wasted = 0
    const calls = withoutDuplicates(reply.toolCalls)
    yield* storeReply(turn, toMessage(reply, calls, turn), reply, tally)
    if (calls.length === 0) return answeredEnd(reply, tally, turn)
    yield* runTools(turn, calls, tally)
    if (turn.signal.aborted) return interruptedEnd("interrupted_by_user", turn, tally)
  }
  return exhaustedEnd(turn.budget, tally)
}

/** At the limit of a session's cost the person decides, where one is there. */
async function* mayGoOn(turn: Turn, refusal: string): AsyncGenerator<AgentEventBody, boolean, void> {
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

async function* askModel(turn: Turn): AsyncGenerator<AgentEventBody, ModelOutcome, void> {
  const stream = turn.model.stream(
    {
      model: turn.model.runtime.model,
      system: turn.system,
      messages: repairSequence(withEveryCallSettled(mendBrokenCalls(turn.history))).messages,
      tools: turn.tools,
      ...turn.sampling,
    },
    { signal: turn.signal },
  )
  for (;;) {
    const step = await stream.next()
    if (step.done === true) return step.value
    const event = step.value
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        yield event
        break
      case "tool-generating":
        yield { type: "status", kind: "tool-generating", text: "", tool: event.tool }
        break
      case "notice":
        yield { type: "status", kind: "notice", key: "provider", text: turn.redact(event.text) }
        break
      case "switch":
        yield { type: "status", kind: event.kind, text: turn.redact(event.text) }
        break
      case "retry": {
        const { attempt, delayMs, reason, text } = event
        yield { type: "status", kind: "retry", text: turn.redact(text), attempt, delayMs, reason }
        break
      }
    }
  }
}

/** The reply is durable before any of its calls runs and before anybody is told that it is complete. */
async function* storeReply(
  turn: Turn,
  message: AssistantMessage,
  reply: ModelReply,
  tally: Tally,
): AsyncGenerator<AgentEventBody, void, void> {
  const call = await count(turn, reply, tally)
  const { usage, cost } = call
  await turn.journal.append([message], call)
  turn.history.push(message)
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
async function count(turn: Turn, reply: ModelReply, tally: Tally): Promise<BilledCall> {
  const usage = reply.usage ?? NO_USAGE
  const cost = await turn.spending.record(turn.model.runtime, reply.usage)
  tally.usage = addUsage(tally.usage, usage)
  tally.nextPromptTokens = promptTokens(usage) + usage.output
  tally.costUsd = tally.costUsd === null || cost.usd === null ? null : tally.costUsd + cost.usd
  tally.costStatus = tally.costUsd === null ? "unknown" : cost.status
  return { usage, cost, runtime: turn.model.runtime }
}

async function* runTools(
  turn: Turn,
  calls: readonly ToolCall[],
  tally: Tally,
): AsyncGenerator<AgentEventBody, void, void> {
  tally.toolCalls += calls.length
  const last = calls.at(-1)?.id
  const batch = runBatch(calls, {
    ...turn.dispatch,
    record: async (message) => {
      const deliver = message.tool_call_id === last && !turn.signal.aborted
      const steer = deliver ? turn.steering.take() : undefined
      const stored = steer === undefined ? message : withSteer(message, steer)
      await turn.journal.append([stored])
      turn.history.push(stored)
    },
  })
  for await (const event of batch) {
    if (event.type === "tool-end") for (const path of event.filesChanged ?? []) tally.filesChanged.add(path)
    yield event
  }
}

/** A note from the person travels with the result that is about to be sent, in a form no tool output can forge. */
function withSteer(message: ToolMessage, note: string): ToolMessage {
  const block = `\n\n${STEER_OPENING}\n${note}\n${STEER_CLOSING}`
  return typeof message.content === "string"
    ? { ...message, content: message.content + block }
    : { ...message, content: [...message.content, { type: "text", text: block.trimStart() }] }
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

function isWorthless(reply: ModelReply): boolean {
  if (reply.ending === "cut-call") return true
  return reply.toolCalls.length === 0 && (reply.content === null || reply.content.trim() === "")
}

interface Tally {
  apiCalls: number
  toolCalls: number
  usage: Usage
  readonly filesChanged: Set<string>
  costUsd: number | null
  costStatus: CostStatus
  /** What the next request will hold at least. */
  nextPromptTokens: number
}

function createTally(): Tally {
  return {
    apiCalls: 0,
    toolCalls: 0,
    usage: NO_USAGE,
    filesChanged: new Set(),
    costUsd: 0,
    costStatus: "included",
    nextPromptTokens: 0,
  }
}

function totals(tally: Tally): TurnTotals {
  const { nextPromptTokens: _next, ...used } = tally
  return { ...used, filesChanged: [...tally.filesChanged] }
}

function costLimitEnd(message: string, tally: Tally): TurnEnd {
  return {
    outcome: "error",
    exitReason: "cost_limit",
    finalResponse: null,
    error: { code: "cost_limit", reason: "cost_limit", message, retryable: false },
    totals: totals(tally),
  }
}

/** A fault that nothing in the turn could act on: the store refused, or the program is wrong. */
export function brokenEnd(error: unknown, used: TurnTotals): TurnEnd {
  const storage = error instanceof Error && error.name === "StoreError"
  const message = storage
    ? `the conversation could not be saved, so the run was stopped: ${errorMessage(error)}`
    : `something went wrong inside Hermes: ${errorMessage(error)}`
  return {
    outcome: "error",
    exitReason: storage ? "storage_failed" : "error_near_max_iterations",
    finalResponse: null,
    error: { code: storage ? "storage_failed" : "internal_error", reason: "unknown", message, retryable: false },
    totals: used,
  }
}

function answeredEnd(reply: ModelReply, tally: Tally, turn: Turn): TurnEnd {
  const exitReason =
    reply.ending === "cut-text" ? "partial_stream_recovery" : `text_response(finish_reason=${reply.finishReason})`
  const finalResponse = reply.content === null ? null : turn.redact(reply.content)
  return { outcome: "completed", exitReason, finalResponse, totals: totals(tally) }
}

/** What the person wanted added to a turn they then stopped is dropped with it. */
function interruptedEnd(exitReason: string, turn: Turn, tally: Tally): TurnEnd {
  turn.steering.take()
  return { outcome: "interrupted", exitReason, finalResponse: null, totals: totals(tally) }
}

function failedEnd(outcome: Extract<ModelOutcome, { kind: "failed" }>, tally: Tally): TurnEnd {
  const { reason, message, retryable } = outcome.failure
  return {
    outcome: "error",
    exitReason: "all_retries_exhausted_no_response",
    finalResponse: null,
    error: { code: "provider_error", reason, message, retryable },
    totals: totals(tally),
  }
}

function emptyEnd(reply: ModelReply, tally: Tally): TurnEnd {
  const message =
    reply.ending === "cut-call"
      ? "the connection was lost in the middle of a tool call, several times in a row; nothing of it was run"
      : "the model sent several empty replies in a row"
  return {
    outcome: "error",
    exitReason: "empty_response_exhausted",
    finalResponse: null,
    error: { code: "empty_response", reason: "unknown", message, retryable: true },
    totals: totals(tally),
  }
}

function filteredEnd(reply: ModelReply, tally: Tally): TurnEnd {
  const said = reply.content === null ? "" : `: ${reply.content}`
  return {
    outcome: "error",
    exitReason: "all_retries_exhausted_no_response",
    finalResponse: null,
    error: {
      code: "content_policy_blocked",
      reason: "content_policy_blocked",
      message: `content_policy_blocked: the provider refused to answer${said}`,
      retryable: false,
    },
    totals: totals(tally),
  }
}

function exhaustedEnd(budget: IterationBudget, tally: Tally): TurnEnd {
  return {
    outcome: "max-turns",
    exitReason: `max_iterations_reached(${budget.used}/${budget.max})`,
    finalResponse: `I stopped because the limit of ${budget.max} rounds for one turn is reached. Say "continue" to go on.`,
    totals: totals(tally),
  }
}
