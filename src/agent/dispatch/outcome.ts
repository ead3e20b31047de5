import type { ShownDecision } from "../../protocol/events.ts"
import type { ToolOutcome } from "../../protocol/tool.ts"
import type { ToolResult } from "../../toolkit/tool.ts"
import type { AuditedDecision } from "./audit.ts"
import type { GuardrailDecision } from "./guardrails.ts"

/** How a call ended, before its result is bounded. */
export interface Outcome {
  readonly how: ToolOutcome
  /** Who wrote the result. Only results of tools can contain untrusted text. */
  readonly from: "tool" | "door"
  readonly result: ToolResult
  readonly decision?: ShownDecision
  /** Set when the policy decided about the call. */
  readonly audited?: AuditedDecision
  /** Set when a guardrail blocked the call. */
  readonly guardrail?: GuardrailDecision
  /** Notes about the calls that this call made. */
  readonly innerNotes?: readonly string[]
}

export function errorResult(error: string): ToolResult {
  return { content: { error }, summary: error }
}

export function refusedOutcome(error: string): Outcome {
  return { how: "error", from: "door", result: errorResult(error) }
}

/** The user denied the call in answer to a question of a facet. */
export function deniedOutcome(error: string, rule: string): Outcome {
  return {
    how: "denied",
    from: "door",
    result: { content: { error, status: "blocked" }, summary: "not allowed" },
    decision: { by: "user", rule, choice: "deny" },
  }
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
