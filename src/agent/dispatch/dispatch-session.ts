import type { Channel } from "../../base/channel.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { Auxiliary } from "../../llm/auxiliary/auxiliary.ts"
import type { Walls } from "../../policy/commands/command-verdict.ts"
import type { PolicyDirectories } from "../../policy/policy-request.ts"
import type { StartedProcess } from "../../policy/program-input.ts"
import type { TextOrigins } from "../../policy/provenance/text-origins.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import type { Provenance, ToolCall, ToolMessage } from "../../protocol/message.ts"
import type { ResultBudget } from "../../toolkit/result-budget.ts"
import type { ToolContext, ToolEntry } from "../../toolkit/tool.ts"
import type { ToolHooks } from "../facet.ts"
import type { Interactions } from "../interactions.ts"
import type { Permissions } from "../permissions.ts"
import type { AuditLog } from "./audit.ts"
import type { Guardrails } from "./guardrails.ts"
import type { ShellMemory } from "./shell-memory.ts"
import type { CallInteractions } from "./user-wait.ts"

/** What all tool calls of a session share. */
export interface DispatchSession {
  /** The tools this session may call, by name. */
  readonly tools: ReadonlyMap<string, ToolEntry>
  readonly workspace: Workspace
  readonly permissions: Permissions
  /** The directories that permission rules and the floor compare paths with. */
  readonly policyDirectories: PolicyDirectories
  /** What earlier commands left behind in the shell. */
  readonly shell: ShellMemory
  /** What confines commands where they run; may have to open the sandbox first. Absent: nothing does. */
  readonly walls?: () => Promise<Walls>
  /** The same for scripts that call tools, which may run elsewhere. Default: `walls`. */
  readonly scriptWalls?: () => Promise<Walls>
  readonly hasSudoPassword?: boolean
  /** Whether settings of git name the file, so that git executes or obeys it. Absent where that is not known. */
  readonly isNamedByGit?: (path: string) => Promise<boolean>
  /** Returns those of the directories whose git repositories are newer than this process. Absent: it cannot be known. */
  readonly newRepositories?: (directories: readonly string[]) => Promise<ReadonlySet<string>>
  /** What a background process was started with. Absent: its input is judged as that of a shell. */
  readonly startedProcess?: (id: string) => Promise<StartedProcess | undefined>
  /** Which text of the conversation is the user's and which came from outside. Absent: calls are not judged by origin. */
  readonly origins?: () => Promise<TextOrigins>
  /** Receives each call that a script made: what it read and wrote counts for `origins`, although the history does not contain it. */
  readonly noteInnerCall?: (call: InnerCallRecord) => void
  /** May answer for the user where the policy says so. Absent: the user is asked. */
  readonly auxiliary?: Pick<Auxiliary, "call">
  /** Receives every decision. */
  readonly audit?: AuditLog
  readonly clock: Clock
  readonly log?: Logger
  readonly redact: (text: string, options?: { readonly knownOnly?: boolean }) => string
  readonly resultBudget: ResultBudget
  /** How long a question to the user stays open; 0 waits forever. Default two minutes. */
  readonly questionTimeoutMs?: number
  /** How many calls of one reply may start sub-agents; the others are skipped. */
  readonly maxDelegations?: number
  /** Detects a model that repeats itself. */
  readonly guardrails?: Guardrails
  readonly hooks?: ToolHooks
  /** Creates what one call receives; the door adds the `ask` port. */
  readonly context: (callId: string, signal: AbortSignal, progress: (text: string) => void) => ToolContext
}

/** A call that a script made, with its result. */
export interface InnerCallRecord {
  readonly call: ToolCall
  readonly tool: string
  readonly text: string
  readonly provenance: Provenance | undefined
}

/** What the calls of one batch share besides their session. */
export interface BatchRun {
  /** The run that the calls belong to, for the audit. */
  readonly runId: string
  readonly signal: AbortSignal
  readonly interactions: Interactions
  /** Makes a result durable. Called in call order, never twice at once. */
  record(message: ToolMessage): Promise<void>
}

/** What one call needs besides its session, on its way through the door. */
export interface CallRun extends Pick<BatchRun, "runId" | "signal"> {
  readonly interactions: CallInteractions
  readonly events: Channel<AgentEventBody>
  /** Report every few seconds that a silent call still runs. For calls that run in parallel. */
  readonly heartbeat: boolean
}
