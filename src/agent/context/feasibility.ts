import { smallestSummary } from "./window-budget.ts"

export interface Feasibility {
  /** Most tokens the threshold may be; absent when nothing has to change. */
  readonly thresholdCap?: number
  /** For the person, with the setting that helps. */
  readonly warning?: string
}

const COMFORTABLE_WINDOW = 64_000

/** Can the model that writes the summaries read what it is to summarise? Unknown windows are not judged. */
export function checkFeasibility(facts: {
  readonly thresholdTokens: number
  readonly contextLength: number
  readonly summaryModel: string
  readonly summaryContextLength: number | undefined
}): Feasibility {
  const { thresholdTokens, contextLength, summaryModel, summaryContextLength: window } = facts
  if (window === undefined || window <= 0) return {}
  if (window < thresholdTokens) {
    const thresholdCap = Math.max(window, 2 * smallestSummary(contextLength))
    return {
      thresholdCap,
      warning:
        `The model for summaries, ${summaryModel}, reads only ${window} tokens, so conversations are shortened at ` +
        `${Math.min(thresholdCap, thresholdTokens)} tokens instead of ${thresholdTokens}. Set auxiliary.compression.model to one with a larger window.`,
    }
  }
  if (window >= COMFORTABLE_WINDOW) return {}
  return {
    warning:
      `The model for summaries, ${summaryModel}, reads only ${window} tokens; summaries of long conversations may be poor. ` +
      "Set auxiliary.compression.model to one with a larger window.",
  }
}
