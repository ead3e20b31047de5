import type { CostStatus, Usage } from "../protocol/usage.ts"
import type { ModelRuntime } from "../llm/model.ts"

/** The cost of one call and how reliable the figure is. */
export interface CallCost {
  readonly usd: number | null
  readonly status: CostStatus
  readonly source: string
  readonly version: string
}

/** Counts the cost of a session and checks it against the limit. */
export interface Spending {
  /** Checked before every request of the conversation: returns the reason when it would exceed the limit. */
  refusal(runtime: ModelRuntime, estimatedTokens: number): Promise<string | undefined>
  /** Adds a request of the conversation to the total and returns its cost, which is unknown when the provider reported no usage. */
  record(runtime: ModelRuntime, usage: Usage | undefined): Promise<CallCost>
  /** The user chose to continue: the limit no longer applies to this session. */
  liftLimit(): void
  /** Returns a warning, once, when most of the limit is used up. */
  warning(): string | undefined
}
