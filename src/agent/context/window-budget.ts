import type { EngineModel } from "./context-engine.ts"

/** The `compression` settings. */
export interface CompressionSettings {
  /** Share of the window at which compression starts. */
  readonly threshold: number
  readonly strategy: "pipeline" | "summarize"
  readonly pipelineHeadroom: number
  readonly targetRatio: number
  readonly protectFirstN: number
  readonly protectLastN: number
  /** Maximum tokens of one tool result. */
  readonly budgetReduceLimit: number
  /** In rounds. */
  readonly snipStaleAfter: number
  readonly hardTruncateMaxLoss: number
  readonly planPriority: "high" | "normal"
  readonly abortOnSummaryFailure: boolean
  readonly codexAutoraise: boolean
}

/** Token limits that follow from the window of a model. */
export interface WindowBudget {
  readonly contextLength: number
  readonly threshold: number
  /** A request of this size fits: changing contents is enough. */
  readonly target: number
  /** How much the summariser keeps unchanged at the end. */
  readonly tail: number
  readonly summaryMin: number
  readonly summaryCeiling: number
  /** Maximum tokens of one tool result. */
  readonly resultLimit: number
  /** The window is too small to protect the configured number of messages. */
  readonly small: boolean
}

const COMFORTABLE_THRESHOLD = 64_000
const SMALL_WINDOW_SHARE = 0.85
/** How many tokens a small window keeps free for the reply. */
const REPLY_TOKENS = 2048
const SMALLEST_REPLY_SHARE = 0.1

/** `cap` limits the threshold when the summary model has a smaller window. */
export function windowBudget(model: EngineModel, settings: CompressionSettings, cap = Infinity): WindowBudget {
  const { contextLength } = model
  const share = thresholdShare(model, settings)
  const raw = Math.floor(contextLength * share)
  const small = raw < COMFORTABLE_THRESHOLD && COMFORTABLE_THRESHOLD > SMALL_WINDOW_SHARE * contextLength
  const wanted = small
    ? Math.max(Math.floor(contextLength * share), contextLength - replyReserve(contextLength))
    : Math.max(raw, COMFORTABLE_THRESHOLD)
  const summaryMin = smallestSummary(contextLength)
  const threshold = Math.min(wanted, Math.max(cap, 2 * summaryMin))
  const isSmall = small || threshold < wanted
  const target = Math.floor(threshold * (1 - clamp(settings.pipelineHeadroom, 0, 0.5)))
  return {
    contextLength,
    threshold,
    target,
    tail: Math.floor(Math.min(small ? raw : wanted, threshold) * clamp(settings.targetRatio, 0.1, 0.8)),
    summaryMin,
    summaryCeiling: Math.min(Math.floor(0.05 * contextLength), 12_000),
    // One result must not fill a small window.
    resultLimit: Math.max(1, Math.min(settings.budgetReduceLimit, Math.floor(target / 4))),
    small: isSmall,
  }
}

function replyReserve(contextLength: number): number {
  const share = Math.ceil((1 - SMALL_WINDOW_SHARE) * contextLength)
  return Math.max(Math.ceil(SMALLEST_REPLY_SHARE * contextLength), Math.min(share, REPLY_TOKENS))
}

export function smallestSummary(contextLength: number): number {
  return Math.min(2000, Math.floor(0.2 * contextLength))
}

/** Some models work well with a nearly full window, so compression starts later for them. */
function thresholdShare({ provider, model }: EngineModel, settings: CompressionSettings): number {
  const name = model.slice(model.lastIndexOf("/") + 1).toLowerCase()
  if (name === "trinity-large-thinking") return Math.max(settings.threshold, 0.75)
  const raised = settings.codexAutoraise && provider === "openai-codex" && name.startsWith("gpt-5.5")
  return raised ? Math.max(settings.threshold, 0.85) : settings.threshold
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max)
}
