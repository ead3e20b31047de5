import type { CostStatus, Usage } from "../protocol/usage.ts"
import type { ModelRuntime } from "../llm/model.ts"

/** What one call cost, and how sure that is. */
export interface CallCost {
  readonly usd: number | null
  readonly status: CostStatus
  readonly source: string
  readonly version: string
}

/** Counts what a session spends and says when the next request would pass its limit. */
export interface Spending {
  /** A sentence when the next request must not be sent; asked before every one. */
  refusal(runtime: ModelRuntime, estimatedTokens: number): Promise<string | undefined>
  /** The price of a call; counts towards the limit from now on. A call whose usage was not reported has no known price. */
  record(runtime: ModelRuntime, usage: Usage | undefined): Promise<CallCost>
  /** The person has said to go on: the limit no longer holds in this session. */
  lift(): void
  /** A sentence, once, when most of the limit is used up. */
  warning(): string | undefined
}
