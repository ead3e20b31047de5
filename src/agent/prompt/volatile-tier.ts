import { dateText } from "./date-text.ts"
import type { DraftLayer } from "./prompt-budget.ts"

export interface VolatileFacts {
  /** The state of the working directory when the session began. */
  readonly runtimeIntrospection?: string
  readonly startedAt: Date
  readonly sessionId?: string
  readonly model: string
  readonly provider?: string
}

/** What changes from day to day. It comes last, so that the cached part before it stays long. */
export function volatileTier(facts: VolatileFacts): readonly DraftLayer[] {
  return [
    { name: "runtime introspection", text: facts.runtimeIntrospection ?? "", shorten: () => "" },
    { name: "date", text: dateText(facts) },
  ]
}
