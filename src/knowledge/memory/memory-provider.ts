import type { Message } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { MemoryWrite } from "./memory-edit.ts"

/**
 * An additional memory from a plugin; at most one is active. Methods may fail or hang: the host limits the time of every call and
 * catches its errors. `signal` aborts when the host no longer waits.
 */
export interface MemoryProvider {
  readonly name: string
  /** Returns whether it is configured. Must not use the network. */
  isAvailable(): boolean
  initialize(context: MemoryProviderContext, options: { readonly signal: AbortSignal }): Promise<void>
  /** Returns text for the system prompt. Called once per session. */
  systemPromptBlock?(): string
  /** Returns what it knows about a user message, before the message goes to the model. */
  prefetch?(query: string, options: MemoryProviderCall): Promise<string>
  /** Called after a turn, so that the next prefetch is fast. */
  queuePrefetch?(query: string, options: MemoryProviderCall): void
  syncTurn?(
    user: string,
    assistant: string,
    options: MemoryProviderCall & { readonly messages: readonly Message[] },
  ): Promise<void>
  toolSchemas(): readonly ToolDefinition[]
  handleTool?(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: { readonly signal: AbortSignal },
  ): Promise<string>
  onTurnStart?(turn: number, message: string, facts: TurnFacts): void
  /** Called before messages are compressed. Returns what must be preserved. */
  onPreCompress?(messages: readonly Message[], options: MemoryProviderCall): Promise<string>
  /** Called when the agent has changed a memory file. `content` is the new text, or the `oldText` of a removal. */
  onMemoryWrite?(
    action: MemoryWrite["action"],
    target: MemoryWrite["target"],
    content: string,
    options: { readonly sessionId: string },
  ): void
  onDelegation?(task: string, result: string, options: { readonly childSessionId: string }): void
  onSessionSwitch?(sessionId: string, how: SessionSwitch): void
  /** Called at the end of a session (exit, reset, expiry), not after each turn. */
  onSessionEnd?(messages: readonly Message[], options: MemoryProviderCall): Promise<void>
  /** The fields that `hermes memory setup` asks for. */
  configSchema?(): readonly MemoryProviderField[]
  saveConfig?(values: Readonly<Record<string, string>>, home: string): void
  shutdown?(): Promise<void>
}

export interface MemoryProviderContext {
  readonly sessionId: string
  readonly hermesHome: string
  readonly platform: string
  readonly userId?: string
  readonly userIdAlt?: string
  /** Only primary sessions are written to memory, because others do not contain the user's words. */
  readonly agentContext: "primary" | "subagent" | "cron" | "flush"
  readonly agentIdentity: string
  readonly agentWorkspace: string
  readonly parentSessionId?: string
}

export interface MemoryProviderCall {
  readonly sessionId: string
  readonly signal: AbortSignal
}

export interface TurnFacts {
  readonly remainingTokens: number
  readonly model: string
  readonly platform: string
  readonly toolCount: number
}

/** `reset`: `/new`. `parentSessionId`: `/resume`, `/branch` and compression. `rewound`: undo, which keeps the id. */
export interface SessionSwitch {
  readonly parentSessionId?: string
  readonly reset: boolean
  readonly rewound: boolean
}

export interface MemoryProviderField {
  readonly key: string
  readonly description: string
  /** Stored in `.env` as `envVar`. */
  readonly secret?: boolean
  readonly required?: boolean
  readonly default?: string
  readonly choices?: readonly string[]
  /** Where the user can get the value. */
  readonly url?: string
  readonly envVar?: string
}
