import type { SessionId } from "./identifiers.ts"
import type { FinishReason, Message, ToolCall } from "./message.ts"
import type { Access, Subject, ToolLabel, ToolOutcome } from "./tool.ts"
import type { CostStatus, Usage } from "./usage.ts"

/** What surfaces receive of a run. The stream of a run ends with exactly one `run-end`, even on failure or abort. */
export type AgentEvent = EventEnvelope & AgentEventBody

interface EventEnvelope {
  readonly sessionId: SessionId
  readonly runId: string
  /** From 0, without gaps within a run. */
  readonly seq: number
  /** Epoch seconds. */
  readonly ts: number
}

export type AgentEventBody =
  | RunStart
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "message-end"; readonly message: EndedMessage; readonly streamed: boolean }
  | ToolStart
  | { readonly type: "tool-progress"; readonly callId: string; readonly text: string }
  | ToolEnd
  | ApprovalRequest
  | ClarifyRequest
  | PlanReady
  | UsageEvent
  | StatusEvent
  | {
      readonly type: "session-rotated"
      readonly oldSessionId: SessionId
      readonly newSessionId: SessionId
      readonly reason: "compression"
    }
  | SubagentStart
  | SubagentEnd
  | RunEnd

/** What surfaces receive of the sub-agents of a run. Those of a sub-agent's own sub-agents are in the same stream. */
export type SubagentEvent = SubagentStart | SubagentStatus | SubagentEnd

/** Identifies a sub-agent and its position in the tree. */
interface SubagentIdentity {
  readonly subagentId: string
  /** The sub-agent that started it; null when the conversation did. */
  readonly parentId: string | null
  /** 1 for a sub-agent of the conversation. */
  readonly depth: number
}

export interface SubagentStart extends SubagentIdentity {
  readonly type: "subagent-start"
  readonly goal: string
  readonly role: SubagentRole
  readonly model: string
  /** Under this id its conversation is stored. */
  readonly childSessionId: SessionId
  /** From 0, within the call that started it. */
  readonly taskIndex: number
  readonly taskCount: number
}

export type SubagentRole = "leaf" | "orchestrator"

/** What a sub-agent does now. `progress` comes with every fifth tool call. */
export interface SubagentStatus extends SubagentIdentity {
  readonly type: "status"
  readonly kind: "subagent"
  readonly activity: "spawn-requested" | "thinking" | "text" | "tool" | "progress"
  readonly tool?: string
  readonly text: string
}

export interface SubagentEnd extends SubagentIdentity {
  readonly type: "subagent-end"
  readonly status: SubagentOutcome
  readonly durationMs: number
  readonly summary: string
  readonly tokens: { readonly input: number; readonly output: number }
  /** Null when a price is unknown. */
  readonly costUsd: number | null
}

export type SubagentOutcome = "completed" | "failed" | "error" | "timeout" | "interrupted"

export interface RunStart {
  readonly type: "run-start"
  readonly resumed: boolean
  readonly model: string
  readonly provider: string
  readonly cwd: string
  readonly permissionProfile: string
  readonly toolsets: readonly string[]
  readonly tools: readonly string[]
}

export interface EndedMessage {
  readonly id: string
  readonly role: "assistant"
  readonly text: string
  /** `interrupted`: the user, a signal or a consumer that stopped reading ended the reply early. */
  readonly finishReason: FinishReason | "interrupted"
  readonly toolCalls: readonly ToolCall[]
}

/** A call as surfaces see it: arguments parsed and with secrets redacted. */
export interface ShownCall {
  readonly id: string
  /** The call of a script that made this call. */
  readonly parentId?: string
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
}

export interface ToolStart {
  readonly type: "tool-start"
  readonly call: ShownCall
  readonly preview: string
  /** Absent for tools that have none, such as those of MCP servers. */
  readonly label?: ToolLabel
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
}

export interface ToolEnd {
  readonly type: "tool-end"
  readonly call: ShownCall
  readonly outcome: ToolOutcome
  readonly durationMs: number
  readonly summary: string
  readonly truncated: boolean
  readonly exitCode?: number
  /** Why it failed, in one word that the user knows, for example `full`. */
  readonly failureWord?: string
  /** The last lines of a failed command, for the user. */
  readonly outputTail?: string
  readonly diff?: string
  readonly filesChanged?: readonly string[]
  readonly decision?: ShownDecision
}

export interface ShownDecision {
  readonly by: "user" | "rule" | "profile" | "classifier" | "noninteractive"
  readonly rule: string
  readonly choice: ApprovalChoice | "allow"
}

export type ApprovalChoice = "once" | "session" | "always" | "deny" | "timeout"

export interface ApprovalRequest {
  readonly type: "approval-request"
  readonly requestId: string
  readonly kind: "command" | "tool" | "edit"
  readonly call: ShownCall
  readonly command?: string
  readonly description: string
  readonly rule: string
  readonly choices: readonly ApprovalChoice[]
  /** Why it needs approval, one clause each. */
  readonly reasons?: readonly string[]
  /** The rule that the choice `always` saves. */
  readonly pattern?: string
  /** A sentence about the calls that the rule will match, beyond this one. */
  readonly patternScope?: string
  /** The directory in which a command would run. */
  readonly directory?: string
  readonly background?: boolean
  /** The command would run in a pseudo-terminal. */
  readonly pty?: boolean
  /** What would confine the command. */
  readonly sandbox?: ShownSandbox
  /** Known secrets in the call were replaced by a mask. */
  readonly masked?: true
  /** The programs that a command would start, as Hermes understands it. */
  readonly understood?: readonly UnderstoodProgram[]
  /** Epoch seconds; null waits forever. */
  readonly expiresAt: number | null
}

export type ShownSandbox =
  | { readonly kind: "none" }
  | { readonly kind: "sandbox"; readonly network: "off" | "list" | "on"; readonly hosts: readonly string[] }
  /** A container or a machine of its own. */
  | { readonly kind: "container" }

/** One program that a command line would start. */
export interface UnderstoodProgram {
  readonly command: string
  /** Programs such as sudo that start it. */
  readonly wrappers: readonly string[]
  /** Absent when it is not known. */
  readonly directory?: string
}

export interface ClarifyRequest {
  readonly type: "clarify-request"
  readonly requestId: string
  readonly kind: "question" | "secret" | "sudo"
  /** Set where Hermes asks. Otherwise the question is the model's, and the model reads the answer. */
  readonly asker?: "hermes"
  readonly question: string
  readonly choices: readonly string[]
  readonly allowFreetext: boolean
  readonly expiresAt: number | null
}

/** A run in plan mode has produced its plan. The user decides about it after the run. */
export interface PlanReady {
  readonly type: "plan-ready"
  readonly requestId: string
  readonly taskId: string
  readonly path: string
  readonly text: string
  readonly sha256: string
}

export interface UsageEvent {
  readonly type: "usage"
  readonly usage: Usage
  readonly contextTokens: number
  readonly contextLength: number
  readonly costUsd?: number
  /** The auxiliary task of the call, whose figures belong to the auxiliary model; absent for the conversation itself. */
  readonly task?: string
}

export type StatusEvent = { readonly type: "status"; readonly text: string } & (
  | SubagentStatus
  | { readonly kind: "iteration"; readonly iteration: number }
  | { readonly kind: "tool-generating"; readonly tool: string }
  | { readonly kind: "retry"; readonly attempt: number; readonly delayMs: number; readonly reason: string }
  | {
      readonly kind: "fallback" | "rotate" | "compress" | "warning" | "notice"
      /** The text deltas of the last request do not belong to any message. */
      readonly discardsText?: true
      /** The text repeats what the user typed, and is not logged. */
      readonly quotesInput?: true
    }
  | {
      readonly kind: "answered"
      readonly requestId: string
      readonly question: "approval" | "clarify"
      readonly choice: string
      readonly by: ShownDecision["by"]
    }
  | { readonly kind: "permission-profile"; readonly old: string; readonly new: string; readonly by: string }
)

export type RunOutcome = "completed" | "interrupted" | "max-turns" | "plan-ready" | "error"

export interface RunEnd {
  readonly type: "run-end"
  readonly outcome: RunOutcome
  readonly result: RunResult
}

export interface RunResult {
  readonly finalResponse: string | null
  /** Remarks of Hermes about the turn, to be shown below the answer. They are not part of the conversation. */
  readonly notes?: readonly string[]
  readonly exitReason: string
  readonly messages: readonly Message[]
  readonly model: string
  readonly provider: string
  readonly sessionId: SessionId
  readonly apiCalls: number
  readonly toolCalls: number
  readonly usage: Usage
  readonly costUsd: number | null
  readonly costStatus: CostStatus
  readonly durationMs: number
  readonly filesChanged: readonly string[]
  /** Where the plan of a run in plan mode is. */
  readonly planPath?: string
  readonly error?: RunError
  /** The answer was cut off. */
  readonly partial?: true
  /** A steering note that arrived too late for this run; the host sends it as the next user message. */
  readonly pendingSteer?: string
}

export interface RunError {
  /** Stable identifier for scripts, for example `provider_error`, `storage_failed`, `no_provider_configured`. */
  readonly code: string
  /** The failure class when the error came from a model request. */
  readonly reason: string
  readonly message: string
  readonly retryable: boolean
}

/** The user's answer to an open question of a run. */
export type Answer =
  | { readonly kind: "approval"; readonly choice: Exclude<ApprovalChoice, "timeout"> }
  | { readonly kind: "clarify"; readonly text: string }
