import type { Clock } from "../../base/clock.ts"
import { lazy } from "../../base/lazy.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import type { CompressOptions, CompressOutcome, ContextEngine, ContextFigures, EngineModel } from "./context-engine.ts"
import { createEstimator } from "./token-estimate.ts"
import type { Estimator } from "./token-estimate.ts"
import type { PipelineParts, PipelineResult } from "./compression-pipeline.ts"
import type { Spill } from "./shortened-result.ts"
import type { SummaryPort } from "./summary/summariser.ts"
import { windowBudget } from "./window-budget.ts"
import type { CompressionSettings } from "./window-budget.ts"

export interface CompressorOptions {
  readonly model: EngineModel
  readonly settings: CompressionSettings
  readonly clock: Clock
  readonly redact: (text: string) => string
  /** Undefined when no model is available. */
  readonly summarise: SummaryPort | undefined
  /** Stores the full text of a shortened result and returns its path. */
  readonly spill: Spill
  /** The one-line form of an old result. */
  readonly digest: (call: DigestedCall) => string
  /** Whether a newer result of an equal call makes an older one obsolete, by tool name. */
  readonly newestResultOnly: (tool: string) => boolean
  /** Upper limit of the threshold, when the summary model has a smaller window. */
  readonly thresholdCap?: number
  readonly estimator?: Estimator
}

/** Share of the messages' tokens that a run must save to count as effective. The system prompt cannot shrink. */
const EFFECTIVE_SAVING = 0.1
const MAX_INEFFECTIVE_RUNS = 2
/** How much of the window a request may fill when only the provider's last count says that it fits. */
const TRUSTED_SHARE = 0.9
const SMALLEST_TRUSTED_GROWTH = 4096
/** A forced run reduces the messages to this share, although they fit by estimate. */
const FORCED_SHARE = 0.7
/** Upper limit for the ratio of real to estimated tokens. */
const MAX_RATIO = 3

/** The built-in context engine: five layers, cheapest first, or only a summary. */
export function createCompressor(options: CompressorOptions): ContextEngine {
  const { settings } = options
  const estimator = options.estimator ?? createEstimator()
  // Loaded on first use: most sessions never need a compression.
  const implementation = lazy(async () => {
    const [
      { runPipeline, runSummary },
      { changedMessages, startDraft },
      { isOversized },
      { findBoundaries },
      { createSummariser },
    ] = await Promise.all([
      import("./compression-pipeline.ts"),
      import("./history-draft.ts"),
      import("./shortened-result.ts"),
      import("./summary/boundaries.ts"),
      import("./summary/summariser.ts"),
    ])
    const summariser = createSummariser({ ...options, estimator, abortOnFailure: settings.abortOnSummaryFailure })
    return { runPipeline, runSummary, changedMessages, startDraft, isOversized, findBoundaries, summariser }
  })
  let budget = windowBudget(options.model, settings, options.thresholdCap)
  let lastPromptTokens = 0
  /** Estimate of the last request that was below the threshold by the provider's count. */
  let baseline: number | undefined
  /** Real tokens per estimated token; the threshold is in real tokens. */
  let ratio = 1
  let ineffectiveRuns = 0
  let compressionCount = 0

  /** The tokens available for messages, and whether they are so few that less of head and tail is protected. */
  const roomFor = (
    request: CompressOptions,
    before: number,
  ): { readonly room: number; readonly aim: number; readonly small: boolean } => {
    const left = (tokens: number): number => tokens / ratio - request.overheadTokens
    const target = left(budget.target)
    const small = budget.small || target < SMALL_ROOM
    // When the prompt fills most of a small window, the normal target would remove almost the whole conversation.
    const room = small ? Math.max(target, SMALLEST_ROOM_SHARE * left(budget.threshold), MIN_ROOM) : target
    const aim = Math.max(REMOVAL_SHARE[small ? "small" : "large"] * left(budget.threshold), MIN_ROOM)
    const refused = request.force === true && request.manual !== true
    const fitting = Math.floor(refused ? Math.min(room, FORCED_SHARE * before) : room)
    return { room: fitting, aim: Math.floor(Math.min(fitting, aim)), small }
  }

  return {
    name: "compressor",
    get figures(): ContextFigures {
      return {
        lastPromptTokens,
        thresholdTokens: budget.threshold,
        targetTokens: budget.target,
        contextLength: budget.contextLength,
        compressionCount,
      }
    },
    updateFromResponse: ({ realTokens, estimatedTokens }) => {
      if (realTokens <= 0) {
        // A provider that reports no usage must not leave the size unknown: the estimate is used instead.
        lastPromptTokens = Math.max(0, lastPromptTokens)
        return
      }
      lastPromptTokens = realTokens
      if (estimatedTokens > 0) ratio = Math.min(Math.max(1, realTokens / estimatedTokens), MAX_RATIO)
      if (realTokens < budget.threshold) baseline = estimatedTokens
    },
    shouldCompress: (promptTokens) => promptTokens >= budget.threshold && ineffectiveRuns < MAX_INEFFECTIVE_RUNS,
    shouldDeferPreflight: (estimatedTokens) => {
      if (lastPromptTokens <= 0 || lastPromptTokens >= budget.threshold || baseline === undefined) return false
      const growth = estimatedTokens - baseline
      if (growth > Math.max(SMALLEST_TRUSTED_GROWTH, 0.05 * budget.threshold)) return false
      if (lastPromptTokens + growth * ratio > TRUSTED_SHARE * budget.contextLength) return false
      baseline = estimatedTokens
      return true
    },
    hasContentToCompress: async (messages) => {
      const { findBoundaries, isOversized } = await implementation()
      const { start, cut, sizeCut } = findBoundaries(messages, {
        head: settings.protectFirstN,
        protectLastN: settings.protectLastN,
        tailTokens: budget.tail,
        estimator,
      })
      const oversized = (message: Message): boolean =>
        message.role === "tool" && isOversized(contentText(message.content), budget.resultLimit)
      return Math.max(cut, sizeCut) - start > 1 || messages.some(oversized)
    },
    compress: async (messages, request) => {
      const { runPipeline, runSummary, changedMessages, startDraft, summariser } = await implementation()
      if (request.manual === true) summariser.endCooldown()
      const before = estimator.messages(messages)
      const { room, aim, small } = roomFor(request, before)
      const parts: PipelineParts = {
        ...options,
        estimator,
        budget: { ...budget, small },
        summariser,
        room,
        aim,
        request,
      }
      const fits = before <= room
      const summaryWanted =
        settings.strategy === "summarize" ||
        request.keepExchanges !== undefined ||
        (request.manual === true && (fits || request.focus !== undefined))
      const draft = startDraft(messages)
      const result = summaryWanted ? await runSummary(draft, parts) : await runPipeline(draft, parts)
      const after = estimator.messages(result.draft.messages)
      const outcome = outcomeOf(result, {
        messages,
        before,
        after,
        overhead: request.overheadTokens,
        reshaped: changedMessages(result.draft),
      })
      if (outcome.layersRun.length > 0) {
        lastPromptTokens = -1
        baseline = undefined
        compressionCount += 1
      }
      const saved = outcome.tokensBefore - outcome.tokensAfter
      const effective = saved > 0 && saved >= EFFECTIVE_SAVING * before
      if (!request.signal.aborted) ineffectiveRuns = effective ? 0 : ineffectiveRuns + 1
      return outcome
    },
    updateModel: (model) => {
      budget = windowBudget(model, settings, options.thresholdCap)
      lastPromptTokens = 0
      baseline = undefined
      ratio = 1
      ineffectiveRuns = 0
    },
  }
}

const MIN_ROOM = 300
/** When the prompt leaves less than this, a large window is treated like a small one. */
const SMALL_ROOM = 4000
const SMALLEST_ROOM_SHARE = 0.7
/**
 * How much of the space for messages is used after a removal. Each removal starts a new session and loses the prompt cache, so it
 * must last for many rounds. A small window has room for little more than the last rounds.
 */
const REMOVAL_SHARE = { small: 0.12, large: 0.28 }

/** The outcome of a run; unchanged messages when it did not make the conversation smaller. */
function outcomeOf(
  result: PipelineResult,
  sizes: {
    readonly messages: readonly Message[]
    readonly before: number
    readonly after: number
    readonly overhead: number
    readonly reshaped: CompressOutcome["reshaped"]
  },
): CompressOutcome {
  const { messages, before, after, overhead } = sizes
  const error = result.error === undefined ? {} : { auxError: result.error }
  const helped = !result.aborted && after < before
  if (!helped) {
    return {
      messages,
      reshaped: new Map(),
      layersRun: [],
      removedMessages: false,
      droppedRounds: 0,
      fallbackSummary: false,
      aborted: result.aborted,
      ...error,
      tokensBefore: before + overhead,
      tokensAfter: before + overhead,
    }
  }
  return {
    messages: result.draft.messages,
    reshaped: sizes.reshaped,
    layersRun: result.layersRun,
    removedMessages: result.layersRun.some((layer) => layer === 2 || layer === 4 || layer === 5),
    droppedRounds: result.droppedRounds,
    fallbackSummary: result.fallback,
    aborted: false,
    ...error,
    tokensBefore: before + overhead,
    tokensAfter: after + overhead,
  }
}
