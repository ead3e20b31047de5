import type { Result } from "../../base/result.ts"
import type { AgentEvent, SubagentOutcome, SubagentRole } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"

/**
 * Starts sub-agents: separate sessions with their own budget that share the workspace and the user's permissions, never more. Each is
 * recorded in the home before it starts.
 */
export interface SpawnAgentPort {
  readonly limits: DelegationLimits
  /** Why no sub-agent may be started now; undefined when one may. */
  refusal(): string | undefined
  /** Fails with a message for the model when the sub-agent cannot be started; nothing is left behind then. */
  spawn(spec: AgentSpec): Promise<Result<SpawnedAgent>>
  /** Absent where results could not be delivered later: in sub-agents and one-shot runs. */
  readonly background?: BackgroundDelegations
}

/** The position of this session in the tree, and what the settings allow there. */
export interface DelegationLimits {
  /** The id of this sub-agent; null in the user's conversation. */
  readonly parentId: string | null
  /** Tasks of one call, all of which run at the same time. */
  readonly maxConcurrent: number
  /** 0 for the user's conversation. */
  readonly depth: number
  readonly maxDepth: number
  readonly orchestratorEnabled: boolean
  /** Undefined: a sub-agent may run as long as it wants. */
  readonly timeoutMs: number | undefined
}

export interface AgentSpec {
  /** `sa-<index>-<8 hex>`. */
  readonly id: string
  /** What the sub-agent should achieve; it sees nothing else of the conversation. */
  readonly goal: string
  readonly context?: string
  /** Limits the tools to these toolsets. */
  readonly toolsets?: readonly string[]
  readonly role: SubagentRole
  /** Works in a separate git worktree. */
  readonly worktree: boolean
  /** The background delegation that it belongs to. */
  readonly delegationId?: string
  /** Aborting it ends the sub-agent and everything it started. */
  readonly signal: AbortSignal
}

export interface SpawnedAgent {
  readonly sessionId: SessionId
  readonly model: string
  readonly role: SubagentRole
  /** What differs from the request, for example a role that was not possible. */
  readonly note?: string
  /** Aborts when the signal of the spec aborts, or when the user stops this sub-agent. */
  readonly signal: AbortSignal
  /** Call it once. Each run of the stream ends with one `run-end`; a message that arrives too late for a run starts another one. */
  run(): AsyncIterable<AgentEvent>
  /** Releases everything it holds, stores how it ended, and returns what the caller should know. Never rejects. */
  close(end: AgentEnd): Promise<ClosedAgent>
}

export interface AgentEnd {
  readonly status: SubagentOutcome
  readonly summary: string
  /** Its model has answered at least once. */
  readonly hasAnswered: boolean
}

export interface ClosedAgent {
  /** Where facts about a sub-agent are that never got an answer of its model in time. */
  readonly diagnosticFile?: string
  /** Files that it changed after the starting session had read them. */
  readonly stalePaths: readonly string[]
  /** The branch with its work, if it had a worktree and changed something there. */
  readonly branch?: string
  /** Where the worktree is and what it contains, as a sentence. */
  readonly keptWorktree?: string
}

/** Sub-agents that run while the conversation goes on. */
export interface BackgroundDelegations {
  /**
   * Records the delegation and starts `work`, whose result is delivered to the conversation later. Fails with a message for the model
   * when too many are running. They end with the session or when the user stops them, not when a turn is interrupted.
   */
  dispatch(task: BackgroundTask): Promise<Result<{ readonly delegationId: string }>>
}

export interface BackgroundTask {
  readonly goal: string
  readonly context?: string
  readonly work: (run: {
    readonly delegationId: string
    readonly signal: AbortSignal
  }) => Promise<{ readonly status: SubagentOutcome; readonly result: Readonly<Record<string, unknown>> }>
}
