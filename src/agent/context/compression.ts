import { isAbort } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import { compactCount } from "../../base/compact-count.ts"
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

type Steps<Value> = AsyncGenerator<AgentEventBody, Value, void>

/** When the conversation is made shorter, and what becomes of the result. One per session; the engine does the shortening. */
export interface Compression {
  readonly figures: ContextFigures
  /** At the start of a turn, when the conversation has grown too long since the last one. */
  beforeTurn(model: ModelClient, signal: AbortSignal): Steps<void>
  /** Another model may answer than last time, with another window. */
  beforeRequest(runtime: ModelRuntime, signal: AbortSignal): Steps<void>
  /** The size of the request that is about to leave, as estimated in `beforeRequest`. */
  requestTokens(): number
  noteUsage(usage: Usage | undefined): void
  afterBatch(signal: AbortSignal): Steps<void>
  /** The provider found the request too long. Undefined: ask again. */
  afterRefusal(refusal: Refusal): Steps<EndReason | undefined>
  /** The next turn starts with a shorter conversation, whatever its size. */
  distrustNextRequest(): void
  /** The person asked for it. */
  now(request: { readonly focus?: string; readonly signal: AbortSignal }): Steps<CompressReport>
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
  readonly onRotated: (sessions: { readonly from: SessionId; readonly to: SessionId }) => void
  readonly report: (fault: string) => void
}

const MAX_PASSES = 3
const MAX_ATTEMPTS_PER_REQUEST = 3
const PAUSE_BEFORE_NEXT_ATTEMPT_MS = 2000
/** Right after a compression the real size is unknown; only a request that cannot possibly fit is shortened again then. */
const CANNOT_FIT = 0.95

export function createCompression(parts: CompressionParts): Compression {
  const { engine, conversation, estimator } = parts
  let distrusted = false
  const confirmed = new WeakSet<ModelClient>()
  let model: Pick<ModelRuntime, "provider" | "model" | "contextLength"> | undefined
  /** The request that is under way, as estimated when it was made. */
  let estimated = 0
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

  async function* run(how: Pick<CompressOptions, "focus" | "force" | "manual" | "signal">): Steps<Done> {
    const lock = await parts.journal.lockCompression(how.signal)
    if (lock === undefined) return nothing(parts, "another process is shortening this conversation")
    try {
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
        const done = yield* run({ signal, force })
        if (!done.progress) return
      }
    },
    beforeRequest: async function* (runtime, signal) {
      const changed = adoptModel(runtime)
      if (changed && parts.enabled && engine.shouldCompress(estimate())) yield* run({ signal })
      estimated = estimate()
    },
    requestTokens: () => estimated,
    noteUsage: (usage) => {
      const real = usage === undefined ? 0 : promptTokens(usage)
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
    now: async function* ({ focus, signal }) {
      const done = yield* run({ signal, force: true, manual: true, ...(focus === undefined ? {} : { focus }) })
      return done.report
    },
  }
}

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
    if (!rotated) return nothing(parts, "the shorter conversation could not be stored", tokensBefore)
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
async function* rotate(messages: readonly Message[], parts: CompressionParts): Steps<boolean> {
  const { conversation } = parts
  const from = conversation.id
  try {
    const child = await parts.journal.rotate(messages)
    conversation.continueAs(child, messages)
    if (child.id !== from) {
      parts.onRotated({ from, to: child.id })
      yield { type: "session-rotated", oldSessionId: from, newSessionId: child.id, reason: "compression" }
    }
    return true
  } catch (error) {
    parts.report(`the shortened conversation could not be stored: ${errorMessage(error)}`)
    return false
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
