import type { DecisionLayer } from "../../policy/policy-request.ts"
import type { ApprovalChoice } from "../../protocol/events.ts"
import type { Access, ToolOutcome } from "../../protocol/tool.ts"

/** Receives one entry for each decided call. Must return at once and never throw. */
export interface AuditLog {
  record(entry: AuditEntry): void
}

export interface AuditEntry extends AuditedDecision {
  readonly runId: string
  readonly callId: string
  readonly tool: string
  readonly access: Access | "unknown"
  /** As the model wrote them. */
  readonly args: Readonly<Record<string, unknown>>
  readonly status: ToolOutcome
  readonly durationMs: number
}

/** How a call was decided. */
export interface AuditedDecision {
  readonly decision: "allow" | "deny" | "ask"
  readonly decidedBy: DecidedBy
  readonly rule: string
  readonly layer: DecisionLayer
  readonly profile: string
  readonly choice?: ApprovalChoice
  /** How long the answer of a user is valid. */
  readonly scope?: "once" | "session" | "permanent"
  /** From the start of the decision to its end, including the time a user took. */
  readonly latencyMs: number
}

export type DecidedBy =
  | "floor"
  | "plan"
  | "rule"
  | "profile"
  | "grant"
  | "detector"
  | "provenance"
  | "classifier"
  | "user"
  | "timeout"
  | "headless"
