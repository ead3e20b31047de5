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
import type { Steps } from "../steps.ts"
import type { CompressOptions, CompressOutcome, ContextEngine, ContextFigures, EngineModel } from "./context-engine.ts"
import type { Estimator } from "./token-estimate.ts"
import { withTodoList } from "./todo-reinjection.ts"
import { isValidHistory } from "./history-validity.ts"
import type { MinimumWindowCheck } from "./minimum-window.ts"

/** Decides when to compress the conversation and applies the result. One per session; the context engine does the compression. */
export interface Compression {
  /** With an estimate of the prompt where the conversation has messages, but no request was sent with this model yet. */
  readonly figures: ContextFigures
  /** The conversation continues with another model; the figures are those of its window from now on. */
  modelSwitched(model: EngineModel): void
  /** Compresses at the start of a turn when the conversation is too long. */
  beforeTurn(model: ModelClient, signal: AbortSignal): Steps<void>
  /** Compresses when the model changed to one with a smaller window. Returns a reason when the request must not be sent. */
  beforeRequest(model: ModelClient, signal: AbortSignal): Steps<EndReason | undefined>
  /** The size of the next request, as estimated in `beforeRequest`. */
  estimatedRequestTokens(): number
  noteUsage(usage: Usage | undefined): void
  afterToolResults(signal: AbortSignal): Steps<void>
  /** Emits a warning after an answer when a local server has too small a window. */
  afterAnswer(model: ModelClient, signal: AbortSignal): Steps<void>
  /** The provider rejected the request as too long. Returns undefined when it can be retried. */
  afterOverflow(refusal: Overflow): Steps<EndReason | undefined>
  /** The next turn starts with a compression, regardless of its size. */
  compressBeforeNextTurn(): void
  /** Compresses because the user asked for it. */
  compressNow(request: ManualCompression): Steps<CompressReport>
}

export interface ManualCompression {
  /** A topic to which the summary gives most of its length. */
  readonly focus?: string
  /** Keeps this many of the last exchanges unchanged and summarises everything else. */
  readonly keepExchanges?: number
  readonly signal: AbortSignal
}

export interface Overflow {
  readonly failure: LlmFailure
  /** 1 for the first rejection of a request. */
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
  /** Why the compression did less than requested. */
  readonly warning?: string
}

export interface CompressionParts {
  readonly engine: ContextEngine
  readonly enabled: boolean
  readonly conversation: Conversation
  readonly estimator: Estimator
  readonly tools: readonly ToolDefinition[]
  readonly clock: Clock
  readonly todo: () => readonly TodoItem[]
  readonly beforeRemoval: (
    removed: readonly Message[],
    layer: Parameters<CompressOptions["beforeRemoval"]>[1],
    signal: AbortSignal,
  ) => Promise<string>
  /** Called before each run to load what the engine needs. */
  readonly prepare: (history: readonly Message[]) => Promise<void>
  /** Applies changes by other processes and keeps the messages of the running turn last. Returns whether there were any. */
  readonly catchUp: (turn: readonly Message[]) => Steps<boolean>
  readonly onRotated: (sessions: { readonly from: SessionId; readonly to: SessionId }) => void
  readonly reportFault: (fault: string) => void
  /** `agent.enforce_min_context` */
  readonly enforceMinimumWindow: boolean
  readonly minimumWindow: () => Promise<MinimumWindowCheck>
}

const MAX_PASSES = 3
const MAX_ATTEMPTS_PER_REQUEST = 3
const PAUSE_BEFORE_NEXT_ATTEMPT_MS = 2000
/** Right after a compression the real size is unknown; only above this share of the window is it compressed again. */
const CANNOT_FIT = 0.95
/**
 * Estimates are wrong by a factor of two at most, so a reported count below this share of the estimate is replaced by the
 * estimate. An early compression costs little; a late one can lose the conversation.
 */
const CREDIBLE_SHARE = 0.5
/** For the same reason a message estimated at more than twice the window cannot fit. */
const OVERSIZED_SHARE = 2

export function createCompression(parts: CompressionParts): Compression {
  const { engine, conversation, estimator } = parts
  let compressNextTurn = false
  const confirmed = new WeakSet<ModelClient>()
  let model: Pick<ModelRuntime, "provider" | "model" | "contextLength"> | undefined
  /** Estimated size of the current request. */
  let estimated = 0
  /** The same without images, whose size varies widely. */
  let estimatedText = 0
  /** The provider's last count and how many messages it includes. */
  let counted = { messages: 0, tokens: 0 }

  const overheadTokens = (): number =>
    estimator.request({ system: conversation.system, messages: [], tools: parts.tools })
  const estimate = (): number => overheadTokens() + estimator.messages(conversation.history)

  let lastEstimate: { readonly newest: Message | undefined; readonly tokens: number } | undefined
  /** For figures that are read with every frame. */
  const estimateOnce = (): number => {
    const newest = conversation.history.at(-1)
    if (lastEstimate?.newest !== newest || lastEstimate === undefined) lastEstimate = { newest, tokens: estimate() }
    return lastEstimate.tokens
  }

  /** Size of the next request: the provider's last count plus an estimate of the messages since. */
  const projected = (): number => {
    if (engine.figures.lastPromptTokens <= 0 || counted.tokens === 0) return estimate()
    return counted.tokens + estimator.messages(conversation.history.slice(counted.messages))
  }

  /** Some servers report only uncached tokens or a placeholder. */
  const plausible = (reported: number): number =>
    reported > 0 && reported < CREDIBLE_SHARE * estimatedText ? estimatedText : reported

  const isDue = (): boolean => {
    const size = estimate()
    return engine.shouldCompress(size) && !engine.shouldDeferPreflight(size)
  }
  /** Returns true when the model or its window differs from the previous request. */
  const adoptModel = (runtime: ModelRuntime): boolean => {
    const known = model
    model = runtime
    const same = known?.model === runtime.model && known.contextLength === runtime.contextLength
    if (same) return false
    engine.updateModel(runtime)
    counted = { messages: 0, tokens: 0 }
    return known !== undefined
  }

  async function* run(options: RunRequest): Steps<CompressionRun> {
    for (let attempt = 1; ; attempt += 1) {
      const lock = await conversation.lockCompression(options.signal)
      if (lock === undefined) return unchanged(parts, "another process is compressing this conversation")
      try {
        const adopted = yield* adoptOthers()
        if (adopted === "nothing" || adopted === "too-long") return yield* compress(options)
        // The lock is for the session that another process has continued.
        const isTooLong = adopted === "continued" && engine.shouldCompress(estimate())
        if (!isTooLong || attempt === MAX_PASSES) return { ...unchanged(parts), progress: true }
      } finally {
        counted = { messages: 0, tokens: 0 }
        await lock.release()
      }
    }
  }

  /**
   * Adopts what other processes have stored: the previous holder of the lock may have compressed the conversation already, and a
   * session that another process has continued cannot be compressed again.
   */
  async function* adoptOthers(): Steps<"nothing" | "continued" | "shorter" | "too-long"> {
    const { id } = conversation
    const before = estimate()
    const changed = yield* parts.catchUp(conversation.history.slice(turnStart(conversation.history)))
    if (!changed) return "nothing"
    if (conversation.id !== id) return "continued"
    return estimate() < before ? "shorter" : "too-long"
  }

  async function* compress(options: RunRequest): Steps<CompressionRun> {
    yield { type: "status", kind: "compress", text: "compressing the conversation" }
    await parts.prepare(conversation.history)
    const outcome = await engine.compress(conversation.history, {
      ...options,
      sessionId: conversation.id,
      overheadTokens: overheadTokens(),
      beforeRemoval: (removed, layer) => parts.beforeRemoval(removed, layer, options.signal),
    })
    return yield* applyOutcome(outcome, parts)
  }

  /** Refuses a single message that is far larger than the window: compression cannot help, and some servers truncate silently. */
  async function refuseOversizedMessage(client: ModelClient, signal: AbortSignal): Promise<EndReason | undefined> {
    const isOversized = (tokens: number): boolean => tokens > OVERSIZED_SHARE * client.runtime.contextLength
    if (!isOversized(estimatedText)) return undefined
    const largest = conversation.history.reduce((most, message) => Math.max(most, estimator.textOnly([message])), 0)
    if (!isOversized(largest) || (await client.confirmWindow?.({ signal })) === false) return undefined
    // `confirmWindow` may have corrected the window.
    if (!isOversized(largest)) return undefined
    const { model: name, contextLength } = client.runtime
    // Kept, the message would block every later request.
    const last = conversation.history.length - 1
    const isNewest =
      conversation.history[last]?.role === "user" && isOversized(estimator.textOnly(conversation.history.slice(last)))
    if (isNewest) await conversation.rewind(last, { refused: true })
    return {
      exitReason: "message_too_large",
      code: "message_too_large",
      reason: "context_overflow",
      message: `one message has about ${compactCount(largest)} tokens, but the context window of ${name} has ${compactCount(contextLength)}, so it was not sent${isNewest ? " and not kept" : ""}. ${isNewest ? SPLIT_IT : `Remove it with /undo, then ${SPLIT_IT.charAt(0).toLowerCase()}${SPLIT_IT.slice(1)}`}`,
    }
  }

  return {
    get figures() {
      const { figures } = engine
      return figures.lastPromptTokens === 0 && conversation.history.length > 0
        ? { ...figures, lastPromptTokens: estimateOnce() }
        : figures
    },
    modelSwitched: (next) => engine.updateModel(next),
    beforeTurn: async function* (client, signal) {
      if (!parts.enabled) return
      const force = compressNextTurn
      compressNextTurn = false
      for (let pass = 0; pass < MAX_PASSES && !signal.aborted; pass += 1) {
        adoptModel(client.runtime)
        if (!isDue() && !(force && pass === 0)) return
        if (!confirmed.has(client)) {
          // The known window may be a guess: look it up before messages are removed because of it.
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
    beforeRequest: async function* (client, signal) {
      const changed = adoptModel(client.runtime)
      if (changed && parts.enabled && engine.shouldCompress(estimate())) yield* run({ signal })
      estimated = estimate()
      estimatedText = overheadTokens() + estimator.textOnly(conversation.history)
      const tooLarge = await refuseOversizedMessage(client, signal)
      if (tooLarge !== undefined || !parts.enforceMinimumWindow) return tooLarge
      const message = await (await parts.minimumWindow()).refusal(client, signal)
      const code = "ollama_runtime_context_too_small"
      return message === undefined ? undefined : { exitReason: code, code, reason: code, message }
    },
    estimatedRequestTokens: () => estimated,
    noteUsage: (usage) => {
      const real = plausible(usage === undefined ? 0 : promptTokens(usage))
      engine.updateFromResponse({ realTokens: real, estimatedTokens: estimated })
      counted = { messages: conversation.history.length, tokens: real }
    },
    afterToolResults: async function* (signal) {
      if (!parts.enabled || signal.aborted) return
      const size = projected()
      const unknown = engine.figures.lastPromptTokens < 0
      const due = unknown ? size >= CANNOT_FIT * engine.figures.contextLength : engine.shouldCompress(size)
      if (due) yield* run({ signal, force: unknown })
    },
    afterAnswer: async function* (client, signal) {
      if (client.runtime.billingMode !== "local") return
      const text = await (await parts.minimumWindow()).warning(client, signal)
      if (text !== undefined) yield warning(text)
    },
    afterOverflow: async function* ({ failure, attempt, signal }) {
      if (!parts.enabled)
        return overflowEnd(
          "compaction_disabled",
          failure,
          "the conversation cannot be compressed because compression.enabled is off",
        )
      const { windowTokens } = failure
      if (windowTokens !== undefined && windowTokens < engine.figures.contextLength && model !== undefined) {
        engine.updateModel({ ...model, contextLength: windowTokens })
      }
      if (attempt > MAX_ATTEMPTS_PER_REQUEST) return overflowEnd("compression_exhausted", failure, TOO_LONG)
      if (attempt > 1) await pause(parts.clock, signal)
      const done = yield* run({ signal, force: true })
      return done.progress || signal.aborted ? undefined : overflowEnd("compression_exhausted", failure, TOO_LONG)
    },
    compressBeforeNextTurn: () => {
      compressNextTurn = true
    },
    compressNow: async function* (request) {
      const done = yield* run({ ...request, force: true, manual: true })
      return done.report
    },
  }
}

const SPLIT_IT = "Put the text into a file, send a part of it, or choose a model with a larger context window"

const TOO_LONG =
  "the conversation is too long for this model and cannot be compressed further; remove your last message with /undo, or start a new session with /new"

function overflowEnd(code: string, failure: LlmFailure, message: string): EndReason {
  return {
    exitReason: "all_retries_exhausted_no_response",
    code,
    reason: failure.reason,
    message: `${message} (${failure.message})`,
  }
}

type RunRequest = Pick<CompressOptions, "focus" | "keepExchanges" | "force" | "manual" | "signal">

/** Index of the message that started the last turn: from the user, or about a background process. */
function turnStart(history: readonly Message[]): number {
  const index = history.findLastIndex(
    (message) => message.role === "user" && (message.synthetic === undefined || message.synthetic === "background"),
  )
  return index === -1 ? history.length : index
}

/** `progress`: the next request is smaller than the last one. */
interface CompressionRun {
  readonly progress: boolean
  readonly report: CompressReport
}

function unchanged(parts: CompressionParts, warning?: string, tokens = 0): CompressionRun {
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

/** Stores the compressed history and continues with it. A history that is invalid or not smaller is discarded. */
async function* applyOutcome(outcome: CompressOutcome, parts: CompressionParts): Steps<CompressionRun> {
  const { conversation, engine } = parts
  const { tokensBefore, tokensAfter, auxError } = outcome
  const summaryWarning = auxError === undefined ? undefined : `no model could write the summary: ${auxError}`
  if (summaryWarning !== undefined) yield warning(summaryWarning)
  if (outcome.aborted || outcome.layersRun.length === 0) return unchanged(parts, summaryWarning, tokensBefore)
  if (!isValidHistory(outcome.messages)) {
    parts.reportFault(`the context engine ${engine.name} returned an invalid history, which was discarded`)
    return unchanged(parts, undefined, tokensBefore)
  }
  if (tokensAfter >= tokensBefore) return unchanged(parts, undefined, tokensBefore)
  if (outcome.removedMessages) {
    const rotated = yield* rotate(withTodoList(outcome.messages, parts.todo()), parts)
    if (!rotated.ok) return unchanged(parts, rotated.error, tokensBefore)
  } else {
    await conversation.compress(outcome.messages, outcome.reshaped)
  }
  const saved = `${compactCount(tokensBefore)} to ${compactCount(tokensAfter)} tokens`
  yield { type: "status", kind: "compress", text: `compressed the conversation from about ${saved}` }
  if (outcome.removedMessages && engine.figures.compressionCount > 1) yield warning(REPEATED)
  return {
    progress: true,
    report: {
      tokensBefore,
      tokensAfter,
      layersRun: outcome.layersRun,
      removedMessages: outcome.removedMessages,
      sessionId: conversation.id,
      ...(summaryWarning === undefined ? {} : { warning: summaryWarning }),
    },
  }
}

const REPEATED =
  "this conversation has been compressed more than once, so the model no longer sees many details; all messages stay searchable. A new session works more precisely"

/** A failure before the new session is committed leaves the old one unchanged. */
async function* rotate(messages: readonly Message[], parts: CompressionParts): Steps<Result<undefined>> {
  const { conversation } = parts
  const from = conversation.id
  try {
    const rotated = await conversation.rotate(messages)
    if (!rotated.ok) return rotated
    const to = rotated.value
    if (to !== from) {
      parts.onRotated({ from, to })
      yield { type: "session-rotated", oldSessionId: from, newSessionId: to, reason: "compression" }
    }
    return ok(undefined)
  } catch (error) {
    parts.reportFault(`the compressed conversation could not be stored: ${errorMessage(error)}`)
    return fail("the compressed conversation could not be stored")
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
