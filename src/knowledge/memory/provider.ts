import type { Message } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { MemoryWrite } from "./memory-edit.ts"

/**
 * A memory beside the two files, brought by a plugin; at most one is active. Every method may fail or hang: the host bounds
 * and isolates each call. `signal` aborts when the host no longer waits.
 */
export interface MemoryProvider {
  readonly name: string
  /** Whether it is set up. Must not use the network. */
  isAvailable(): boolean
  initialize(context: ProviderContext, options: { readonly signal: AbortSignal }): Promise<void>
  /** Text for the system prompt, taken once per session. */
  systemPromptBlock?(): string
  /** What is known about a message, recalled before it is answered. */
  prefetch?(query: string, options: ProviderCall): Promise<string>
  /** A hint after a turn, so that the next prefetch is quick. */
  queuePrefetch?(query: string, options: ProviderCall): void
  syncTurn?(
    user: string,
    assistant: string,
    options: ProviderCall & { readonly messages: readonly Message[] },
  ): Promise<void>
  toolSchemas(): readonly ToolDefinition[]
  handleTool?(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: { readonly signal: AbortSignal },
  ): Promise<string>
  onTurnStart?(turn: number, message: string, facts: TurnFacts): void
  /** Messages are about to be given up; what must not be lost with them is the answer. */
  onPreCompress?(messages: readonly Message[], options: ProviderCall): Promise<string>
  /** The agent changed one of the files. `content` is the new text, or for a removal the part that named the entry. */
  onMemoryWrite?(
    action: MemoryWrite["action"],
    target: MemoryWrite["target"],
    content: string,
    options: { readonly sessionId: string },
  ): void
  onDelegation?(task: string, result: string, options: { readonly childSessionId: string }): void
  onSessionSwitch?(sessionId: string, how: SessionSwitch): void
  /** At the real end of a session (exit, reset, expiry), not after each turn. */
  onSessionEnd?(messages: readonly Message[], options: ProviderCall): Promise<void>
  /** What `hermes memory setup` asks for. */
  configSchema?(): readonly ProviderField[]
  saveConfig?(values: Readonly<Record<string, string>>, home: string): void
  shutdown?(): Promise<void>
}

export interface ProviderContext {
  readonly sessionId: string
  readonly hermesHome: string
  readonly platform: string
  readonly userId?: string
  readonly userIdAlt?: string
  /** Only a primary session writes: what others say is not the person's. */
  readonly agentContext: "primary" | "subagent" | "cron" | "flush"
  readonly agentIdentity: string
  readonly agentWorkspace: string
  readonly parentSessionId?: string
}

export interface ProviderCall {
  readonly sessionId: string
  readonly signal: AbortSignal
}

export interface TurnFacts {
  readonly remainingTokens: number
  readonly model: string
  readonly platform: string
  readonly toolCount: number
}

/** `/new` resets; `/resume`, `/branch` and a compression name the parent; undo keeps the id and is a rewind. */
export interface SessionSwitch {
  readonly parentSessionId?: string
  readonly reset: boolean
  readonly rewound: boolean
}

export interface ProviderField {
  readonly key: string
  readonly description: string
  /** Kept in `.env` under `envVar`. */
  readonly secret?: boolean
  readonly required?: boolean
  readonly default?: string
  readonly choices?: readonly string[]
  /** Where a person gets the value. */
  readonly url?: string
  readonly envVar?: string
}
