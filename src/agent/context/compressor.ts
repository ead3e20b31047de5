import type { Clock } from "../../base/clock.ts"
import { contentText } from "../../protocol/message.ts"
import type { Message } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import type { CompressOptions, CompressOutcome, ContextEngine, ContextFigures, EngineModel } from "./engine.ts"
import { createEstimator } from "./estimate.ts"
import type { Estimator } from "./estimate.ts"
import type { PipelineParts, PipelineResult } from "./pipeline.ts"
import type { Spill } from "./shortened-result.ts"
import type { SummaryPort } from "./summary/summariser.ts"
import { windowBudget } from "./window-budget.ts"
import type { CompressionSettings } from "./window-budget.ts"

export interface CompressorOptions {
  readonly model: EngineModel
  readonly settings: CompressionSettings
  readonly clock: Clock
  readonly redact: (text: string) => string
  /** Undefined when no model can be asked. */
  readonly summarise: SummaryPort | undefined
  /** Stores the full text of a result that is cut; gives the path for `read_file`. */
  readonly spill: Spill
  /** The one-line form of an old result. */
  readonly digest: (call: DigestedCall) => string
  /** Most tokens before shortening starts, when the model for summaries has a smaller window (6.9). */
  readonly thresholdCap?: number
  readonly estimator?: Estimator
}

/** Share of the messages that a run must save: the prompt cannot get smaller. */
const EFFECTIVE_SAVING = 0.1
const MAX_INEFFECTIVE_RUNS = 2
/** How much of the window a request may fill on trust in the provider's last count. */
const TRUSTED_SHARE = 0.9
const SMALLEST_TRUSTED_GROWTH = 4096
/** The messages of a forced run become at least this much smaller, although by estimate they fit. */
const FORCED_SHARE = 0.7
/** The estimate is never taken to be further off than this. */
const MAX_RATIO = 3

/** The built-in engine: five layers, cheapest first, or a summary at once. */
export function createCompressor(options: CompressorOptions): ContextEngine {
  const { settings } = options
  const estimator = options.estimator ?? createEstimator()
  let loading: ReturnType<typeof load> | undefined
  // Most sessions end before anything has to be shortened: how it is done is loaded with the first time.
  const load = async () => {
    const [
      { runPipeline, runSummary },
      { reshapedIn, startDraft },
      { isOversized },
      { findBoundaries },
      { createSummariser },
    ] = await Promise.all([
      import("./pipeline.ts"),
      import("./draft.ts"),
      import("./shortened-result.ts"),
      import("./summary/boundaries.ts"),
      import("./summary/summariser.ts"),
    ])
    const summariser = createSummariser({ ...options, estimator, abortOnFailure: settings.abortOnSummaryFailure })
    return { runPipeline, runSummary, reshapedIn, startDraft, isOversized, findBoundaries, summariser }
  }
  const machinery = (): ReturnType<typeof load> => (loading ??= load())
  let budget = windowBudget(options.model, settings, options.thresholdCap)
  let lastPromptTokens = 0
  /** Estimate of the last request that really fitted. */
  let baseline: number | undefined
  /** How many real tokens stand behind an estimated one; the threshold is about real ones. */
  let ratio = 1
  let ineffectiveRuns = 0
  let compressionCount = 0

  /** What the messages may take, and whether that is so little that head and tail must give way. */
  const roomFor = (request: CompressOptions, before: number): { readonly room: number; readonly small: boolean } => {
    const left = (tokens: number): number => tokens / ratio - request.overheadTokens
    const target = left(budget.target)
    const small = budget.small || target < SMALL_ROOM
    // Where the prompt takes most of a small window, freeing a fifth of the whole would take almost everything that was said.
    const room = small ? Math.max(target, SMALLEST_ROOM_SHARE * left(budget.threshold), MIN_ROOM) : target
    const refused = request.force === true && request.manual !== true
    return { room: Math.floor(refused ? Math.min(room, FORCED_SHARE * before) : room), small }
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
        // A provider that never counts must not keep the size unknown for ever: the estimate stands in.
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
      const { findBoundaries, isOversized } = await machinery()
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
      const { runPipeline, runSummary, reshapedIn, startDraft, summariser } = await machinery()
      if (request.manual === true) summariser.forgetFailure()
      const before = estimator.messages(messages)
      const { room, small } = roomFor(request, before)
      const parts: PipelineParts = {
        ...options,
        estimator,
        budget: { ...budget, small },
        summariser,
        room,
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
        reshaped: reshapedIn(result.draft),
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
/** Where the prompt leaves no more than this, a large window is to be treated like a small one. */
const SMALL_ROOM = 4000
const SMALLEST_ROOM_SHARE = 0.7

/** What was done, or nothing at all when it did not make the conversation smaller. */
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
