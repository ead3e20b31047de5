import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import type { Redactor } from "../../base/redact.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import type { LocalMachine } from "../../exec/local/local-machine.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { Lexicon } from "../../knowledge/semantic-search/lexicon.ts"
import type { SemanticSearch } from "../../knowledge/semantic-search/semantic-search.ts"
import type { MemoryProvider } from "../../knowledge/memory/memory-provider.ts"
import type { IdleSockets } from "../../llm/http/idle-sockets.ts"
import type { ModelListPrewarm } from "../../llm/catalog/prewarm-model-list.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionStore } from "../../state/store.ts"
import type { ToolRegistry } from "../../toolkit/registry.ts"
import type { FileRegistry } from "../../tools/file/tracking/file-tracker.ts"
import type { AuditFile } from "../permissions/audit-log.ts"
import type { BackgroundChecks } from "./background-checks.ts"
import type { SandboxedPrograms } from "./sandboxed-programs.ts"
import type { BackgroundProcesses } from "./background-processes.ts"
import type { McpService } from "./mcp-servers.ts"
import type { BackgroundTasks } from "./background-tasks.ts"
import type { OpenedChild, OpenedTask } from "../session/opened-child.ts"
import type { OpenSessionOptions } from "../session/session-options.ts"
import type { PendingWrites } from "./pending-writes.ts"
import type { PluginService } from "./plugin-service.ts"
import type { CommandNotices } from "./command-notices.ts"
import type { SubAgents } from "./sub-agents.ts"

/** What the sessions of one app share. */
export interface Services {
  readonly config: Config
  readonly environment: Environment
  readonly home: Home
  readonly clock: Clock
  /** When the app was created, in the time of the file system. */
  readonly startedMs: number
  readonly log: Logger
  readonly version: string
  readonly registry: ToolRegistry
  readonly redactor: Redactor
  readonly store: () => Promise<SessionStore>
  /** The sessions of another profile of the same home. Rejects with a `StoreError` when there are none. */
  readonly storeOf: (profile: string) => Promise<SessionStore>
  /** Sentences for the user about databases that were repaired since the last call. */
  readonly takeStoreNotices: () => readonly string[]
  /** Semantic search over sessions, memory and learnings. Opened on first use. */
  readonly semanticSearch: () => Promise<SemanticSearch>
  /** Knowledge about words, for searches. Built on first use. */
  readonly lexicon: () => Promise<Lexicon>
  /** External memories; the setting `memory.provider` selects one. */
  readonly memoryProviders: readonly MemoryProvider[]
  readonly prewarm: ModelListPrewarm
  /** The connections to model servers that wait for another request. */
  readonly idleSockets: IdleSockets
  readonly pendingWrites: PendingWrites
  readonly audit: AuditFile
  /** Which files the sessions of this app have read and written. */
  readonly files: FileRegistry
  readonly processes: BackgroundProcesses
  readonly mcp: McpService
  /** Absent when no plugin is enabled. */
  readonly plugins?: PluginService
  /** The conversations whose hooks are active, in the order in which they were opened. */
  readonly conversations: Set<SessionId>
  readonly subAgents: SubAgents
  /** Opens the session of a sub-agent. */
  readonly openChild: (options: OpenSessionOptions) => Promise<Result<OpenedChild>>
  /** The tasks that the user has started in the background. */
  readonly backgroundTasks: BackgroundTasks
  /** Opens the session of a background task. */
  readonly openTask: (options: OpenSessionOptions) => Promise<Result<OpenedTask>>
  /** What the workspaces on this machine share. */
  readonly machine: LocalMachine
  readonly commandNotices: CommandNotices
  readonly backgroundChecks: BackgroundChecks
  readonly sandboxedPrograms: SandboxedPrograms
  /** Checks what commands left behind during which an earlier Hermes was killed. */
  readonly interruptedChecks: () => Promise<void>
  /** The workspaces of open sessions, which are killed when the process must exit at once. */
  readonly workspaces: Set<Workspace>
}
