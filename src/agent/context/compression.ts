import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { compactCount } from "../../base/compact-count.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { LlmFailure } from "../../llm/failure/failure.ts"
import type { ModelClient, ModelRuntime } from "../../llm/model.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { promptTokens } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { TodoItem } from "../../toolkit/ports/todo.ts"
import type { Conversation } from "../conversation.ts"
import type { Journal } from "../journal.ts"
import type { CompressOptions, CompressOutcome, ContextEngine, ContextFigures } from "./engine.ts"
import type { Estimator } from "./estimate.ts"
import { withTodoList } from "./todo-reinjection.ts"
import { isValidHistory } from "./validity.ts"
import type { WindowFloor } from "./window-floor.ts"

type Steps<Value> = AsyncGenerator<AgentEventBody, Value, void>

/** When the conversation is made shorter, and what becomes of the result. One per session; the engine does the shortening. */
export interface Compression {
  readonly figures: ContextFigures
  /** At the start of a turn, when the conversation has grown too long since the last one. */
  beforeTurn(model: ModelClient, signal: AbortSignal): Steps<void>
  /** Another model may answer than last time, with another window. An end: the request can never be answered, so it is not sent. */
  beforeRequest(model: ModelClient, signal: AbortSignal): Steps<EndReason | undefined>
  /** The size of the request that is about to leave, as estimated in `beforeRequest`. */
  requestTokens(): number
  noteUsage(usage: Usage | undefined): void
  afterBatch(signal: AbortSignal): Steps<void>
  /** The turn has ended with an answer: what the person should know about the window. */
  afterAnswer(model: ModelClient, signal: AbortSignal): Steps<void>
  /** The provider found the request too long. Undefined: ask again. */
  afterRefusal(refusal: Refusal): Steps<EndReason | undefined>
  /** The next turn starts with a shorter conversation, whatever its size. */
  distrustNextRequest(): void
  /** The person asked for it. */
  now(request: ManualRequest): Steps<CompressReport>
}

export interface ManualRequest {
  /** A topic that gets most of the summary. */
  readonly focus?: string
  /** How many of the last exchanges stay word for word, and nothing else. */
  readonly keepExchanges?: number
  readonly signal: AbortSignal
}

export interface Refusal {
  readonly failure: LlmFailure
  /** From 1, within one request. */
  readonly attempt: number
  readonly signal: AbortSignal
}

export interface EndReason {
  readonly exitReason: string
  readonly code: string
  readonly reason: string
  readonly message: string
}

export interface CompressReport {
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly layersRun: readonly number[]
  readonly removedMessages: boolean
  readonly sessionId: SessionId
  /** Why less was done than asked for. */
  readonly warning?: string
}

export interface CompressionParts {
  readonly engine: ContextEngine
  readonly enabled: boolean
  readonly conversation: Conversation
  readonly journal: Journal
  readonly estimator: Estimator
  readonly tools: readonly ToolDefinition[]
  readonly clock: Clock
  readonly todo: () => readonly TodoItem[]
  readonly beforeLoss: (
    doomed: readonly Message[],
    layer: Parameters<CompressOptions["beforeLoss"]>[1],
    signal: AbortSignal,
  ) => Promise<string>
  /** Called before each run, for what the engine needs ready. */
  readonly prepare: (history: readonly Message[]) => Promise<void>
  /** Takes over what other processes did to the conversation, behind which `question` stays the last; gives whether there was anything. */
  readonly catchUp: (question: Message | undefined) => Steps<boolean>
  readonly onRotated: (sessions: { readonly from: SessionId; readonly to: SessionId }) => void
  readonly report: (fault: string) => void
  /** `agent.enforce_min_context` */
  readonly enforceFloor: boolean
  readonly floor: () => Promise<WindowFloor>
}

const MAX_PASSES = 3
const MAX_ATTEMPTS_PER_REQUEST = 3
const PAUSE_BEFORE_NEXT_ATTEMPT_MS = 2000
/** Right after a compression the real size is unknown; only a request that cannot possibly fit is shortened again then. */
const CANNOT_FIT = 0.95
/**
 * Estimates are wrong by a factor of two at most: a count below this share of one is not believed, and the estimate stands in, as
 * for a server that does not count. Too early a compression costs little, too late a one the conversation.
 */
const CREDIBLE_SHARE = 0.5
/** By the same reasoning a message of twice the window cannot fit, whatever the estimate is worth. */
const HOPELESS_SHARE = 2

export function createCompression(parts: CompressionParts): Compression {
  const { engine, conversation, estimator } = parts
  let distrusted = false
  const confirmed = new WeakSet<ModelClient>()
  let model: Pick<ModelRuntime, "provider" | "model" | "contextLength"> | undefined
  /** The request that is under way, as estimated when it was made. */
  let estimated = 0
  /** The least that request can have held. */
  let credible = 0
  /** How far the provider's own count reaches: messages up to here are in it. */
  let counted = { messages: 0, tokens: 0 }

  const overheadTokens = (): number =>
    estimator.request({ system: conversation.system, messages: [], tools: parts.tools })
  const estimate = (): number => overheadTokens() + estimator.messages(conversation.history)

  /** What the next request will hold: the provider's count where there is one, and an estimate of what came after it. */
  const projected = (): number => {
    if (engine.figures.lastPromptTokens <= 0 || counted.tokens === 0) return estimate()
    return counted.tokens + estimator.messages(conversation.history.slice(counted.messages))
  }

  /** Some servers count only what their cache did not hold, or nothing but a placeholder. */
  const believed = (reported: number): number =>
    reported > 0 && reported < CREDIBLE_SHARE * credible ? credible : reported

  const isDue = (): boolean => {
    const size = estimate()
    return engine.shouldCompress(size) && !engine.shouldDeferPreflight(size)
  }
  /** True when another window or model counts from now on. */
  const adoptModel = (runtime: ModelRuntime): boolean => {
    const known = model
    model = runtime
    const same = known?.model === runtime.model && known.contextLength === runtime.contextLength
    if (same) return false
    engine.updateModel(runtime)
    counted = { messages: 0, tokens: 0 }
    return known !== undefined
  }

  async function* run({ question, ...how }: RunRequest): Steps<Done> {
    const lock = await parts.journal.lockCompression(how.signal)
    if (lock === undefined) return nothing(parts, "another process is shortening this conversation")
    try {
      // Whoever had the right before may have done it all. In the middle of a turn nothing is taken over: what others added
      // meanwhile follows the shorter conversation by itself.
      if (question !== undefined && (yield* parts.catchUp(question))) {
        return { ...nothing(parts), progress: true }
      }
      yield { type: "status", kind: "compress", text: "making the conversation shorter" }
      await parts.prepare(conversation.history)
      const outcome = await engine.compress(conversation.history, {
        ...how,
        sessionId: conversation.id,
        overheadTokens: overheadTokens(),
        beforeLoss: (doomed, layer) => parts.beforeLoss(doomed, layer, how.signal),
      })
      return yield* adopt(outcome, parts)
    } finally {
      counted = { messages: 0, tokens: 0 }
      await lock.release()
    }
  }

  /** One message that is far larger than the window: no compression helps, and some servers would silently cut it. */
  async function hopeless(client: ModelClient, signal: AbortSignal): Promise<EndReason | undefined> {
    const isHopeless = (tokens: number): boolean => tokens > HOPELESS_SHARE * client.runtime.contextLength
    if (!isHopeless(credible)) return undefined
    const largest = conversation.history.reduce((most, message) => Math.max(most, estimator.words([message])), 0)
    const tooLarge = (): boolean => isHopeless(largest)
    if (!tooLarge() || (await client.confirmWindow?.({ signal })) === false || !tooLarge()) return undefined
    const { model: name, contextLength } = client.runtime
    return {
      exitReason: "message_too_large",
      code: "message_too_large",
      reason: "context_overflow",
      message: `one message has about ${compactCount(largest)} tokens and ${name} can read ${compactCount(contextLength)}, so nothing was sent. ${SPLIT_IT}`,
    }
  }

  return {
    get figures() {
      return engine.figures
    },
    beforeTurn: async function* (client, signal) {
      if (!parts.enabled) return
      const force = distrusted
      distrusted = false
      for (let pass = 0; pass < MAX_PASSES && !signal.aborted; pass += 1) {
        adoptModel(client.runtime)
        if (!isDue() && !(force && pass === 0)) return
        if (!confirmed.has(client)) {
          // What is known about a window may be a guess; before anything is given up for it, it is looked up.
          confirmed.add(client)
          await client.confirmWindow?.({ signal })
          adoptModel(client.runtime)
          if (!isDue() && !force) return
        }
        if (!(await engine.hasContentToCompress(conversation.history))) return
        const question = conversation.history.at(-1)
        const done = yield* run({ signal, force, ...(question === undefined ? {} : { question }) })
        if (!done.progress) return
      }
    },
    beforeRequest: async function* (client, signal) {
      const changed = adoptModel(client.runtime)
      if (changed && parts.enabled && engine.shouldCompress(estimate())) yield* run({ signal })
      estimated = estimate()
      credible = overheadTokens() + estimator.words(conversation.history)
      const tooLarge = await hopeless(client, signal)
      if (tooLarge !== undefined || !parts.enforceFloor) return tooLarge
      const message = await (await parts.floor()).refusal(client, signal)
      const code = "ollama_runtime_context_too_small"
      return message === undefined ? undefined : { exitReason: code, code, reason: code, message }
    },
    requestTokens: () => estimated,
    noteUsage: (usage) => {
      const real = believed(usage === undefined ? 0 : promptTokens(usage))
      engine.updateFromResponse({ realTokens: real, estimatedTokens: estimated })
      counted = { messages: conversation.history.length, tokens: real }
    },
    afterBatch: async function* (signal) {
      if (!parts.enabled || signal.aborted) return
      const size = projected()
      const unknown = engine.figures.lastPromptTokens < 0
      const due = unknown ? size >= CANNOT_FIT * engine.figures.contextLength : engine.shouldCompress(size)
      if (due) yield* run({ signal, force: unknown })
    },
    afterAnswer: async function* (client, signal) {
      if (client.runtime.billingMode !== "local") return
      const text = await (await parts.floor()).warning(client, signal)
      if (text !== undefined) yield warning(text)
    },
    afterRefusal: async function* ({ failure, attempt, signal }) {
      if (!parts.enabled)
        return ended(
          "compaction_disabled",
          failure,
          "compression.enabled is off, so the conversation cannot be made shorter",
        )
      const { windowTokens } = failure
      if (windowTokens !== undefined && windowTokens < engine.figures.contextLength && model !== undefined) {
        engine.updateModel({ ...model, contextLength: windowTokens })
      }
      if (attempt > MAX_ATTEMPTS_PER_REQUEST) return ended("compression_exhausted", failure, TOO_LONG)
      if (attempt > 1) await pause(parts.clock, signal)
      const done = yield* run({ signal, force: true })
      return done.progress || signal.aborted ? undefined : ended("compression_exhausted", failure, TOO_LONG)
    },
    distrustNextRequest: () => {
      distrusted = true
    },
    now: async function* (request) {
      const done = yield* run({ ...request, force: true, manual: true })
      return done.report
    },
  }
}

const SPLIT_IT =
  "Put the text into a file and ask about that, send a part of it, or choose a model with a larger window; in a conversation, /undo takes the message back first"

const TOO_LONG =
  "the conversation is too long for this model and cannot be made shorter; take your last message back with /undo, or start a new one with /new"

function ended(code: string, failure: LlmFailure, message: string): EndReason {
  return {
    exitReason: "all_retries_exhausted_no_response",
    code,
    reason: failure.reason,
    message: `${message} (${failure.message})`,
  }
}

type RunRequest = Pick<CompressOptions, "focus" | "keepExchanges" | "force" | "manual" | "signal"> & {
  /** At the start of a turn: what the person has just said. */
  readonly question?: Message
}

/** `progress`: the next request is smaller than the last one was. */
interface Done {
  readonly progress: boolean
  readonly report: CompressReport
}

function nothing(parts: CompressionParts, warning?: string, tokens = 0): Done {
  return {
    progress: false,
    report: {
      tokensBefore: tokens,
      tokensAfter: tokens,
      layersRun: [],
      removedMessages: false,
      sessionId: parts.conversation.id,
      ...(warning === undefined ? {} : { warning }),
    },
  }
}

/** Stores what the engine did, then goes on with it. What is not valid or no smaller is left as it was. */
async function* adopt(outcome: CompressOutcome, parts: CompressionParts): Steps<Done> {
  const { conversation, journal, engine } = parts
  const { tokensBefore, tokensAfter, auxError } = outcome
  const trouble = auxError === undefined ? undefined : `the summary could not be made by a model: ${auxError}`
  if (trouble !== undefined) yield warning(trouble)
  if (outcome.aborted || outcome.layersRun.length === 0) return nothing(parts, trouble, tokensBefore)
  if (!isValidHistory(outcome.messages)) {
    parts.report(`the context engine ${engine.name} gave an invalid history; it is not used`)
    return nothing(parts, undefined, tokensBefore)
  }
  if (tokensAfter >= tokensBefore) return nothing(parts, undefined, tokensBefore)
  if (outcome.removedMessages) {
    const rotated = yield* rotate(withTodoList(outcome.messages, parts.todo()), parts)
    if (!rotated.ok) return nothing(parts, rotated.error, tokensBefore)
  } else {
    await journal.reshape(outcome.reshaped)
    conversation.replaceHistory(outcome.messages)
  }
  const saved = `${compactCount(tokensBefore)} to ${compactCount(tokensAfter)} tokens`
  yield { type: "status", kind: "compress", text: `the conversation was shortened from about ${saved}` }
  if (outcome.removedMessages && engine.figures.compressionCount > 1) yield warning(DEGRADES)
  return {
    progress: true,
    report: {
      tokensBefore,
      tokensAfter,
      layersRun: outcome.layersRun,
      removedMessages: outcome.removedMessages,
      sessionId: conversation.id,
      ...(trouble === undefined ? {} : { warning: trouble }),
    },
  }
}

const DEGRADES =
  "this conversation has been shortened more than once; details get lost to the model, though all of it stays searchable. A new conversation works more precisely"

/** Any failure before the new rows are committed leaves the old session as it is. */
async function* rotate(messages: readonly Message[], parts: CompressionParts): Steps<Result<undefined>> {
  const { conversation } = parts
  const from = conversation.id
  try {
    const rotated = await parts.journal.rotate(messages)
    if (!rotated.ok) return rotated
    const child = rotated.value
    conversation.continueAs(child, messages)
    if (child.id !== from) {
      parts.onRotated({ from, to: child.id })
      yield { type: "session-rotated", oldSessionId: from, newSessionId: child.id, reason: "compression" }
    }
    return ok(undefined)
  } catch (error) {
    parts.report(`the shortened conversation could not be stored: ${errorMessage(error)}`)
    return fail("the shorter conversation could not be stored")
  }
}

function warning(text: string): AgentEventBody {
  return { type: "status", kind: "warning", text }
}

async function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(PAUSE_BEFORE_NEXT_ATTEMPT_MS, { signal })
  } catch (error) {
    if (!isAbort(error)) throw error
  }
}
