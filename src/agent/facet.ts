import type { MemoryWrite } from "../knowledge/memory/memory-edit.ts"
import type { ModelClient } from "../llm/model.ts"
import type { AgentEvent, RunEnd, SubagentOutcome, SubagentRole } from "../protocol/events.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Message, UserInput } from "../protocol/message.ts"
import type { Access, Subject, ToolOutcome } from "../protocol/tool.ts"
import type { AskPort } from "../toolkit/ports/ask.ts"
import type { ToolEntry, ToolPorts } from "../toolkit/tool.ts"
import type { DraftLayer } from "./prompt/prompt-budget.ts"

/**
 * One capability of a session: memory, the task list, checkpoints, titles and so on. The composition root has one ordered list of
 * facets; everything else that a session consists of, apart from its loop, comes from there. Each member is optional. A facet that throws is logged
 * and skipped, except in `beforeTool` and `toolStarting`, where a failure keeps the call from running.
 */
export interface SessionFacet {
  readonly name: string
  /** Offered when their toolset is enabled for the session. Called once, when the session opens. */
  tools?(): readonly ToolEntry[]
  /**
   * Names of sources, for example MCP servers, whose tools are never declared to the model. They may arrive at any time, and the model
   * reaches them through the bridges.
   */
  toolSources?(): readonly string[]
  /** Describes a registered tool as it works in this session; undefined where its declaration is right. */
  toolText?(entry: ToolEntry): ToolText | undefined
  /** Abilities for tools. Called once, when the session opens. */
  ports?(): Partial<ToolPorts>
  /** Parts of the system prompt, for a new session and for each child session after a compression. */
  promptLayers?(request: PromptRequest): Promise<readonly FacetLayer[]>
  /** Text that is sent with the user's message. The session waits for it. */
  beforeTurn?(turn: StartingTurn): Promise<string | undefined>
  /** Called after `beforeTurn`: why the user's message must not be sent. The run then ends with an error. */
  refusesTurn?(): string | undefined
  /**
   * The first request of the session has been sent, and the process waits for the model: opens what tool calls will need. The signal
   * aborts when the run ends. It must not keep the process running.
   */
  awaitingReply?(signal: AbortSignal): Promise<void>
  /** The hook stage of the door, before guardrails and policy: may tighten, never loosen. */
  beforeTool?(call: HookedCall): Promise<HookDecision>
  /** Called when an allowed call starts; the returned function is called when it has ended. `CallDeniedError` denies the call. */
  toolStarting?(call: StartingCall): Promise<(() => void) | undefined>
  /**
   * Called when an allowed call has ended or a call was refused, before its result is bounded. The returned text replaces the result; the
   * first facet with one wins.
   */
  toolEnded?(call: EndedCall): Promise<string | undefined>
  /** A line below the result of a call. Results come last in a request, so the bytes sent before stay the same. */
  afterTool?: ResultNote
  /** Messages are about to be removed from the history; the returned text goes into the summary's material. */
  beforeCompression?(removal: Removal): Promise<string | undefined>
  /** The conversation continues in another session. */
  rotated?(sessions: { readonly from: SessionId; readonly to: SessionId }): void
  /** Another process changed the conversation; its messages have been adopted. */
  historyChanged?(history: readonly Message[]): void
  memoryWritten?(write: MemoryWrite): void
  /** A sub-agent of the session is about to work. Its own sub-agents are reported to itself. */
  delegationStarted?(delegation: Delegation): void
  /** A sub-agent of the session has ended. */
  delegationEnded?(delegation: EndedDelegation): void
  /** Every event of a run except deltas, as surfaces receive it. */
  eventEmitted?(event: AgentEvent): void
  /** The final text of a turn that was not interrupted. The returned text replaces it in `run-end`; the stored conversation keeps its own. */
  transformAnswer?(text: string): Promise<string | undefined>
  /** A paragraph for the user below the answer; a warning if the run ended without one. It is not part of the conversation. */
  turnFooter?(): Promise<string | undefined> | string | undefined
  /** The answer has been delivered. Work that takes time is started here, not awaited. */
  afterTurn?(turn: EndedTurn): void
  /** The stream of a run is closed and nothing else runs; the next run waits for it. */
  runEnded?(): Promise<void>
  /** Facets are closed in reverse order of the list, before the end of the session is stored. */
  close?(reason: string): Promise<void>
  /** The end of the session is stored. */
  closed?(): void
}

export type ToolText = Pick<ToolEntry, "description" | "parameters">

export type ResultNote = (call: SettledCall, signal: AbortSignal) => Promise<string | undefined> | string | undefined

export type FacetLayer = DraftLayer & {
  /** `stable` is the same for every session on this machine, `context` belongs to the project, `volatile` changes from day to day. */
  readonly tier: "stable" | "context" | "volatile"
  /** Shown to the user when the session opens. */
  readonly warning?: string
}

export interface PromptRequest {
  /** The tools the model may use, declared or deferred. */
  readonly tools: readonly Pick<ToolEntry, "name" | "role">[]
  /** `lean` sessions carry only what a model cannot work without. */
  readonly style: "full" | "lean"
}

export interface StartingTurn {
  /** The user's message as text. */
  readonly text: string
  readonly history: readonly Message[]
  readonly model: ModelClient
  readonly signal: AbortSignal
}

export interface Delegation {
  readonly goal: string
  readonly role: SubagentRole
  /** The id of the sub-agent's session when it began. */
  readonly childTaskId: SessionId
}

export interface EndedDelegation extends Delegation {
  readonly status: SubagentOutcome
  readonly summary: string
  /** Another one than at the beginning if the conversation was compressed. */
  readonly childSessionId: SessionId
  readonly durationMs: number
}

export interface EndedTurn {
  readonly input: UserInput
  readonly end: RunEnd
  readonly model: ModelClient
}

/** A call that has been validated. */
export interface HookedCall {
  readonly tool: string
  readonly entry: ToolEntry
  readonly callId: string
  readonly args: Readonly<Record<string, unknown>>
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  readonly signal: AbortSignal
}

/** `rewrite` replaces the arguments; they are validated again and pass the remaining stages. */
export type HookDecision =
  | { readonly kind: "allow" }
  | { readonly kind: "deny"; readonly reason: string }
  /** The user must approve the call, unless the permission profile is full-auto. */
  | { readonly kind: "ask"; readonly reason: string }
  | { readonly kind: "rewrite"; readonly args: Readonly<Record<string, unknown>> }

/** A call that was allowed and is about to run. */
export interface StartingCall extends Omit<HookedCall, "args" | "callId"> {
  /** What the user sees. */
  readonly preview: string
  /** Protected files that the user's approval opened for it. */
  readonly opened: readonly string[]
  /** It may write instructions for agents, because git updates the working tree. */
  readonly opensInstructions?: true
  /** It only runs git, which may change settings of the repository for it. */
  readonly opensGitSettings?: true
  readonly ask: AskPort["ask"]
  /** Shows a line to the user on every surface. */
  readonly tell: (kind: "warning" | "notice", text: string) => void
}

/** A call that has ended, with its result as the tool returned it. */
export interface EndedCall {
  readonly tool: string
  readonly callId: string
  readonly entry: ToolEntry
  readonly args: Readonly<Record<string, unknown>>
  readonly outcome: ToolOutcome
  /** The content as JSON. */
  readonly text: string
  readonly error?: string
  readonly durationMs: number
  readonly signal: AbortSignal
}

/** A call that has settled. */
export interface SettledCall {
  readonly tool: string
  /** Absent when there is no such tool. */
  readonly entry?: ToolEntry
  readonly args: Readonly<Record<string, unknown>>
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  readonly outcome: ToolOutcome
  /** The result as the model will read it. */
  readonly text: string
  /** The error of a failed call without its framing; for a failed command, the end of its output. */
  readonly error?: string
}

export interface Removal {
  readonly messages: readonly Message[]
  /** The compression layer that removes them; 5 replaces them with a summary. */
  readonly layer: 2 | 4 | 5
  readonly signal: AbortSignal
}

/** The hooks and notes that the door collects from the facets of a session. */
export interface ToolHooks {
  /** In list order: the first denial ends it, rewrites add up. */
  beforeTool(call: HookedCall): Promise<HookDecision>
  toolStarting(call: StartingCall): Promise<() => void>
  /** Absent when no facet wants to know. */
  readonly toolEnded?: (call: EndedCall) => Promise<string | undefined>
  /** One line per facet that has something to add, in list order. */
  afterTool(call: SettledCall, signal: AbortSignal): Promise<readonly string[]>
}
