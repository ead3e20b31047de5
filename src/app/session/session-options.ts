import type { ShellMemory } from "../../agent/dispatch/shell-memory.ts"
import type { IterationBudget } from "../../agent/iteration-budget.ts"
import type { Origin } from "../../agent/origin.ts"
import type { Permissions } from "../../agent/permissions.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import type { PermissionFlags } from "../permissions/load-permission-policy.ts"
import type { SubagentRole } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import type { SessionSpending } from "./session-spending.ts"

export interface OpenSessionOptions {
  readonly origin: Origin
  readonly model: ChosenModel
  readonly cwd: string
  /** Default: the one of the settings. */
  readonly permissionProfile?: PermissionProfile
  /** The rules of `--allow` and `--deny`. */
  readonly permissionFlags?: PermissionFlags
  readonly resume?: SessionId
  readonly toolsets?: readonly string[]
  readonly maxIterations?: number
  /** Added to the prompt for this process only, never stored. */
  readonly ephemeralPrompt?: string
  /** The name of the personality, or "none". Default: the one of the settings. */
  readonly personality?: string
  /** Show the session id to the model. */
  readonly passSessionId?: boolean
  /** A note for the model about the workspace: part of the prompt of a new session, sent with the next message of a resumed one. */
  readonly workspaceNote?: string
  readonly sandboxPaths?: SandboxPaths
  /** Take checkpoints before changes even if the settings say otherwise. */
  readonly checkpoints?: true
  /** Let a model generate the title. A one-shot run would end before it is generated. */
  readonly generateTitle?: boolean
  /** Save each run as training data even if the settings say otherwise. */
  readonly saveTrajectories?: true
  /** The surface delivers notices (`Session.background`), so that work may go on in the background. */
  readonly deliversNotices?: true
  /** The session is a sub-agent. */
  readonly child?: ChildSession
}

/** What a sub-agent inherits from the session that starts it, and what it must not exceed. */
export interface ChildSession {
  /** `sa-<index>-<8 hex>`. */
  readonly subagentId: string
  /** 1 for a sub-agent of the user's conversation. */
  readonly depth: number
  readonly role: SubagentRole
  readonly parent: SessionId
  /** The task of the user's conversation, whose workspace it shares. */
  readonly rootTaskId: SessionId
  readonly permissions: Permissions
  /** Knows what the commands of the parent did to files. */
  readonly shell: ShellMemory
  /** Set where its iterations count for the turn that waits for it. */
  readonly parentBudget?: IterationBudget
  /** Counts for the parent as well. */
  readonly spending: SessionSpending
  readonly prompt: string
  /** The conversation that led to it: what the user said, and what came from outside. */
  readonly earlierHistory: readonly Message[]
  /** Empty: that of the settings for all sessions. */
  readonly reasoningEffort: string
  allows(tool: ToolEntry): boolean
}

/** Exceptions to what sandboxed commands may write: `writable` replaces `cwd`, `readOnly` wins over it. */
export interface SandboxPaths {
  readonly writable: readonly string[]
  readonly readOnly: readonly string[]
}
