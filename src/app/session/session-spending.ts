import type { CallCost, Spending } from "../../agent/spending.ts"
import { addUsd } from "../../llm/catalog/cost.ts"
import { tokenRefusal, tokenWarning } from "../../llm/catalog/session-token-limit.ts"
import type { ModelRuntime } from "../../llm/model.ts"
import type { Prices } from "../../llm/catalog/prices.ts"
import { NO_USAGE, addUsage, worseStatus } from "../../protocol/usage.ts"
import type { Usage } from "../../protocol/usage.ts"

/** The spending of a session, of which the conversation is one part. */
export interface SessionSpending extends Spending {
  /** The same for an auxiliary call. Its size says nothing about the next request of the conversation. */
  recordAuxiliary(runtime: ModelRuntime, usage: Usage | undefined): Promise<CallCost>
  /**
   * Returns the cost of all calls since the last call of this method. A call that ends between two runs, such as a title, therefore
   * counts in the second one. `usd` is null when one price is unknown.
   */
  takeRunCost(): Pick<CallCost, "usd" | "status">
  /**
   * The ledger of a sub-agent. What it spends counts against the limits and the run of this session too; its own run cost does not
   * contain what others spend.
   */
  child(): SessionSpending
  /** Returns the usage of sub-agents since the last call of this method. */
  takeChildUsage(): Usage
  /** The same totals and limit for a second sequence of requests, which runs next to the conversation and shows no warnings. */
  inBackground(): Spending
}

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
}): SessionSpending {
  let spent = options.spentUsd
  let warned = false
  let limitUsd = options.limitUsd
  let limitTokens = options.limitTokens
  let used = options.used
  let warnedOfTokens = false
  let run = NO_COST
  let childUsage = NO_USAGE
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
  /** Concurrent calls may be priced at the same time, so the totals change only after the wait. */
  const add = async (runtime: ModelRuntime, usage: Usage | undefined): Promise<CallCost> => {
    const cost = await price(runtime, usage)
    spent = addUsd(spent, cost.usd ?? 0)
    run = plus(run, cost)
    if (usage !== undefined) used = addUsage(used, usage)
    return cost
  }
  const warning = (): string | undefined => {
    const ofTokens = warnedOfTokens ? undefined : tokenWarning({ limit: limitTokens, used })
    if (ofTokens !== undefined) {
      warnedOfTokens = true
      return ofTokens
    }
    if (warned || limitUsd === null || spent < WARNING_SHARE * limitUsd) return undefined
    warned = true
    return `this session has cost $${spent.toFixed(4)} of the $${limitUsd} that model.max_session_cost_usd allows`
  }
  /** One sequence of requests, each of which continues the one before. */
  const sequence = ({ warns }: { readonly warns: boolean }): SessionSpending => {
    // Unknown until the first reply of this process.
    let last: { readonly usage: Usage; readonly estimatedTokens: number } | undefined
    let nextEstimate = 0
    return {
      refusal: async (runtime, estimatedTokens) => {
        nextEstimate = estimatedTokens
        // A compression or an undo has shortened the conversation, so the next request does not contain the last one.
        const isShorter = last !== undefined && estimatedTokens < last.estimatedTokens
        const previous = isShorter ? undefined : last?.usage
        if (limitTokens !== null) {
          const refusal = tokenRefusal({ limit: limitTokens, used, last: previous, estimatedTokens })
          if (refusal !== undefined) return refusal
        }
        // Free models are never refused.
        if (limitUsd === null || runtime.billingMode !== "metered") return undefined
        const { nextRequestUsage } = await import("../../llm/catalog/cost.ts")
        const known = nextRequestUsage(previous ?? NO_USAGE)
        const input = Math.max(known.input, estimatedTokens - known.cacheRead)
        const next = await price(runtime, { ...known, input })
        const expected = addUsd(spent, next.usd ?? 0)
        const soFar = `this session has cost $${spent.toFixed(4)}`
        if (spent >= limitUsd)
          return `${soFar} and model.max_session_cost_usd allows $${limitUsd}; raise it to continue`
        return expected > limitUsd
          ? `${soFar}, and the next request (about $${(next.usd ?? 0).toFixed(4)}) would exceed the $${limitUsd} that model.max_session_cost_usd allows; raise it to continue`
          : undefined
      },
      record: async (runtime, usage) => {
        if (usage !== undefined) last = { usage, estimatedTokens: nextEstimate }
        return await add(runtime, usage)
      },
      recordAuxiliary: add,
      takeRunCost: () => {
        const taken = run
        run = NO_COST
        return taken
      },
      inBackground: () => sequence({ warns: false }),
      child: () =>
        childLedger(sequence({ warns: false }), (usage) => {
          childUsage = addUsage(childUsage, usage)
        }),
      takeChildUsage: () => {
        const taken = childUsage
        childUsage = NO_USAGE
        return taken
      },
      liftLimit: () => {
        limitUsd = null
        limitTokens = null
      },
      warning: () => (warns ? warning() : undefined),
    }
  }
  return sequence({ warns: true })
}

/** Separates the cost of a sub-agent's runs from those of its parent, which `parent` counts. */
function childLedger(parent: SessionSpending, report: (usage: Usage) => void): SessionSpending {
  let run = NO_COST
  let childUsage = NO_USAGE
  const count = (cost: CallCost, usage: Usage | undefined): CallCost => {
    run = plus(run, cost)
    if (usage !== undefined) report(usage)
    return cost
  }
  const own: SessionSpending = {
    ...parent,
    record: async (runtime, usage) => count(await parent.record(runtime, usage), usage),
    recordAuxiliary: async (runtime, usage) => count(await parent.recordAuxiliary(runtime, usage), usage),
  }
  return {
    ...own,
    takeRunCost: () => {
      const taken = run
      run = NO_COST
      return taken
    },
    child: () =>
      childLedger(own, (usage) => {
        childUsage = addUsage(childUsage, usage)
      }),
    takeChildUsage: () => {
      const taken = childUsage
      childUsage = NO_USAGE
      return taken
    },
  }
}

function plus(total: RunCost, cost: RunCost): RunCost {
  return {
    usd: total.usd === null || cost.usd === null ? null : addUsd(total.usd, cost.usd),
    status: worseStatus(total.status, cost.status),
  }
}

type RunCost = Pick<CallCost, "usd" | "status">

const NO_COST: ReturnType<SessionSpending["takeRunCost"]> = { usd: 0, status: "included" }

const WARNING_SHARE = 0.8
