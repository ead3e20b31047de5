import { smallestSummary } from "./window-budget.ts"

export interface SummaryModelCheck {
  /** Upper limit for the threshold; absent when there is none. */
  readonly thresholdCap?: number
  /** For the user, with the setting to change. */
  readonly warning?: string
}

const COMFORTABLE_WINDOW = 64_000

/** Checks whether the summary model can read what it has to summarise. An unknown window passes. */
export function checkSummaryModel(facts: {
  readonly thresholdTokens: number
  readonly contextLength: number
  readonly summaryModel: string
  readonly summaryContextLength: number | undefined
}): SummaryModelCheck {
  const { thresholdTokens, contextLength, summaryModel, summaryContextLength: window } = facts
  if (window === undefined || window <= 0) return {}
  if (window < thresholdTokens) {
    const thresholdCap = Math.max(window, 2 * smallestSummary(contextLength))
    return {
      thresholdCap,
      warning:
        `The context window of the summary model ${summaryModel} has only ${window} tokens, so conversations are compressed at ` +
        `${Math.min(thresholdCap, thresholdTokens)} tokens instead of ${thresholdTokens}. Set auxiliary.compression.model to a model with a larger window.`,
    }
  }
  if (window >= COMFORTABLE_WINDOW) return {}
  return {
    warning:
      `The context window of the summary model ${summaryModel} has only ${window} tokens; summaries of long conversations may be poor. ` +
      "Set auxiliary.compression.model to a model with a larger window.",
  }
}
