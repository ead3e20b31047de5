import type { Origin } from "../../agent/origin.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import type { PermissionFlags } from "../permissions/load-permission-policy.ts"
import type { SessionId } from "../../protocol/identifiers.ts"

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
}

/** Exceptions to what sandboxed commands may write: `writable` replaces `cwd`, `readOnly` wins over it. */
export interface SandboxPaths {
  readonly writable: readonly string[]
  readonly readOnly: readonly string[]
}
