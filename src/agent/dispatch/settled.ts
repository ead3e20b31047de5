import type { AgentEventBody } from "../../protocol/events.ts"
import type { BoundResult } from "./bound-result.ts"
import type { Outcome } from "./outcome.ts"
import type { PreparedCall } from "./prepare.ts"

/** A call with its result, before it is recorded. */
export interface Settled {
  readonly prepared: PreparedCall
  readonly outcome: Outcome
  readonly result: BoundResult
  /** A guardrail warning for the end of the result. */
  readonly warning?: string
  readonly end: Extract<AgentEventBody, { type: "tool-end" }>
}
