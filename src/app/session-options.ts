import type { Clock } from "../base/clock.ts"
import type { Logger } from "../base/logger.ts"
import type { Redactor } from "../base/redact.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { Recall } from "../knowledge/recall/recall.ts"
import type { MemoryProvider } from "../knowledge/memory/provider.ts"
import type { Prewarm } from "../llm/catalog/prewarm.ts"
import type { ChosenModel } from "../llm/choose-model.ts"
import type { PermissionProfile } from "../policy/permission-profile.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { SessionStore } from "../state/store.ts"
import type { ToolRegistry } from "../toolkit/registry.ts"
import type { FileRegistry } from "../tools/file/read-tracker.ts"
import type { Processes } from "./processes.ts"

export interface OpenSessionOptions {
  readonly model: ChosenModel
  readonly cwd: string
  readonly source: string
  readonly platform: string
  readonly permissionProfile: PermissionProfile
  /** Somebody is there to answer questions. */
  readonly attended: boolean
  readonly resume?: SessionId
  readonly toolsets?: readonly string[]
  readonly maxIterations?: number
  /** Added to the prompt of this process only, never stored. */
  readonly ephemeralPrompt?: string
  readonly passSessionId?: boolean
  /** What the model must know of the place: in the prompt of a new session, else told with the next message. */
  readonly aboutPlace?: string
  /** What commands in the sandbox may write instead of `cwd`, and what they may not although it lies inside. */
  readonly walls?: Walls
  /** Snapshots before changes, whatever the settings say. */
  readonly checkpoints?: true
  /** Let a model name the conversation; a run that ends at once has no time for it. */
  readonly generateTitle?: boolean
  /** Where runs are written down as training data; absent writes none. */
  readonly saveTrajectories?: string
}

export interface Walls {
  readonly writable: readonly string[]
  readonly readOnly: readonly string[]
}

/** What the sessions of one app share. */
export interface Shared {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
  readonly registry: ToolRegistry
  readonly redactor: Redactor
  readonly store: () => Promise<SessionStore>
  /** The sessions of another profile of the same home. Rejects with a `StoreError` when there are none. */
  readonly storeOf: (profile: string) => Promise<SessionStore>
  /** Finds sessions, memory and learnings by other words; opened with the first search. */
  readonly recall: () => Promise<Recall>
  /** Memories beside the files of the home; `memory.provider` names the one to use. */
  readonly memoryProviders: readonly MemoryProvider[]
  readonly prewarm: Prewarm
  /** What the sessions of this app have read and written. */
  readonly files: FileRegistry
  /** Commands that go on beside the conversations. */
  readonly processes: Processes
  /** Those of the open sessions. */
  readonly workspaces: Set<Workspace>
}
