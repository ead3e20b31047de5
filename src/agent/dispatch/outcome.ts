import type { ShownDecision } from "../../protocol/events.ts"
import type { ToolOutcome } from "../../protocol/tool.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { GuardrailDecision } from "./guardrails.ts"

/** How a call ended, before its result is bounded. */
export interface Outcome {
  readonly how: ToolOutcome
  /** Who wrote the result. Only results of tools can contain untrusted text. */
  readonly from: "tool" | "door"
  readonly result: ToolResult
  readonly decision?: ShownDecision
  /** Set when a guardrail blocked the call. */
  readonly guardrail?: GuardrailDecision
}

export function errorResult(error: string): ToolResult {
  return { content: { error }, summary: error }
}

export function refusedOutcome(error: string): Outcome {
  return { how: "error", from: "door", result: errorResult(error) }
}

export function skippedOutcome(error: string): Outcome {
  return { how: "skipped", from: "door", result: { content: { error, status: "skipped" }, summary: "skipped" } }
}

export function interruptedOutcome(error: string): Outcome {
  return {
    how: "interrupted",
    from: "door",
    result: { content: { error, status: "interrupted" }, summary: "interrupted" },
  }
}
