import type { CallCost, Spending } from "../../agent/spending.ts"
import { addUsd } from "../../llm/catalog/cost.ts"
import { tokenRefusal, tokenWarning } from "../../llm/catalog/session-token-limit.ts"
import type { ModelRuntime } from "../../llm/model.ts"
import type { Prices } from "../../llm/catalog/prices.ts"
import { NO_USAGE, addUsage } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"

/**
 * The ledger of one session. Prices are looked up only for metered models; the catalogue is loaded after the first
 * such reply has arrived.
 */
export function createSpending(options: {
  readonly limitUsd: number | null
  /** The cost of earlier runs of this session. */
  readonly spentUsd: number
  readonly cacheTtl: "5m" | "1h"
  readonly limitTokens: number | null
  /** Tokens of earlier runs of this session. */
  readonly used: Usage
  /** Prices in the model list of the endpoint. */
  readonly listedPrices: (runtime: ModelRuntime) => Promise<Prices | undefined>
}): Spending {
  let spent = options.spentUsd
  let warned = false
  let limitUsd = options.limitUsd
  let limitTokens = options.limitTokens
  let used = options.used
  let warnedOfTokens = false
  // Unknown until the first reply of this process.
  let last: Usage | undefined
  const price = async (runtime: ModelRuntime, usage: Usage | undefined): Promise<CallCost> => {
    if (runtime.billingMode !== "metered")
      return { usd: 0, status: "included", source: runtime.billingMode, version: "" }
    if (usage === undefined) return { usd: null, status: "unknown", source: "none", version: "" }
    const [{ costOf }, { loadCatalog }, { findPrices }] = await Promise.all([
      import("../../llm/catalog/cost.ts"),
      import("../../llm/catalog/catalog.ts"),
      import("../../llm/catalog/find-prices.ts"),
    ])
    const listed = await options.listedPrices(runtime)
    const prices = findPrices({ ...runtime, listed }, await loadCatalog())
    return costOf(usage, { ...runtime, prices, cacheTtl: options.cacheTtl })
  }
  return {
    refusal: async (runtime, estimatedTokens) => {
      if (limitTokens !== null) {
        const refusal = tokenRefusal({ limit: limitTokens, used, last, estimatedTokens })
        if (refusal !== undefined) return refusal
      }
      // Free models are never refused.
      if (limitUsd === null || runtime.billingMode !== "metered") return undefined
      const { nextRequestUsage } = await import("../../llm/catalog/cost.ts")
      const known = nextRequestUsage(last ?? NO_USAGE)
      const input = Math.max(known.input, estimatedTokens - known.cacheRead)
      const next = await price(runtime, { ...known, input })
      const expected = addUsd(spent, next.usd ?? 0)
      const soFar = `this session has cost $${spent.toFixed(4)}`
      if (spent >= limitUsd) return `${soFar} and model.max_session_cost_usd allows $${limitUsd}; raise it to continue`
      return expected > limitUsd
        ? `${soFar}, and the next request (about $${(next.usd ?? 0).toFixed(4)}) would exceed the $${limitUsd} that model.max_session_cost_usd allows; raise it to continue`
        : undefined
    },
    record: async (runtime, usage) => {
      const cost = await price(runtime, usage)
      spent = addUsd(spent, cost.usd ?? 0)
      if (usage !== undefined) {
        last = usage
        used = addUsage(used, usage)
      }
      return cost
    },
    liftLimit: () => {
      limitUsd = null
      limitTokens = null
    },
    warning: () => {
      const ofTokens = warnedOfTokens ? undefined : tokenWarning({ limit: limitTokens, used })
      if (ofTokens !== undefined) {
        warnedOfTokens = true
        return ofTokens
      }
      if (warned || limitUsd === null || spent < WARNING_SHARE * limitUsd) return undefined
      warned = true
      return `this session has cost $${spent.toFixed(4)} of the $${limitUsd} that model.max_session_cost_usd allows`
    },
  }
}

const WARNING_SHARE = 0.8
