import type { AgentEvent } from "../../protocol/events.ts"

/**
 * Runs a sub-agent: a separate session with its own budget that shares the workspace and the user's permissions, never more. The
 * stream ends with exactly one `run-end`; aborting the signal ends the sub-agent and everything it started.
 */
export type SpawnAgentPort = (spec: AgentSpec) => AsyncIterable<AgentEvent>

export interface AgentSpec {
  /** What the sub-agent should achieve; it sees nothing else of the conversation. */
  readonly task: string
  readonly context?: string
  /** Limits the tools to these toolsets. */
  readonly toolsets?: readonly string[]
  readonly maxIterations?: number
  readonly signal: AbortSignal
}
