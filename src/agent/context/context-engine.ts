import type { Message } from "../../protocol/message.ts"

/**
 * Keeps a conversation within the context window of its model. The engine decides when and how to compress; compression.ts checks
 * and stores the result. A session has exactly one engine. The messages never include the system prompt.
 */
export interface ContextEngine {
  readonly name: string
  readonly figures: ContextFigures
  /** Called after a reply with the real size of its request (0 when the provider does not report it) and the estimate. */
  updateFromResponse(prompt: { readonly realTokens: number; readonly estimatedTokens: number }): void
  /** Whether a request of this size exceeds the threshold. False after two ineffective runs in a row. */
  shouldCompress(promptTokens: number): boolean
  /** Whether the provider's last count shows that the request fits although the estimate exceeds the threshold. */
  shouldDeferPreflight(estimatedTokens: number): boolean
  hasContentToCompress(messages: readonly Message[]): Promise<boolean>
  compress(messages: readonly Message[], options: CompressOptions): Promise<CompressOutcome>
  /** The session continues with another model. */
  updateModel(model: EngineModel): void
}

export interface EngineModel {
  readonly provider: string
  readonly model: string
  readonly contextLength: number
}

export interface ContextFigures {
  /** -1 when unknown, right after a compression; 0 before the first request. */
  readonly lastPromptTokens: number
  readonly thresholdTokens: number
  readonly targetTokens: number
  readonly contextLength: number
  readonly compressionCount: number
}

export interface CompressOptions {
  /** The session that stores the messages; notes about removed rounds refer to it. */
  readonly sessionId: string
  /** Tokens of the system prompt and the tool definitions, which every request contains. */
  readonly overheadTokens: number
  readonly focus?: string
  /** Summarises everything before the last exchanges, this many, regardless of size. */
  readonly keepExchanges?: number
  /** Run although recent runs were ineffective: the provider rejected the request, or the user asked for it. */
  readonly force?: boolean
  /** The user asked for it. */
  readonly manual?: boolean
  readonly signal: AbortSignal
  /** Called before messages are removed; returns facts that the note or summary should contain ("" for none). */
  readonly beforeRemoval: (removed: readonly Message[], layer: 2 | 4 | 5) => Promise<string>
}

export interface CompressOutcome {
  /** Unchanged messages are the same objects, so their cached encoding stays valid. */
  readonly messages: readonly Message[]
  /** Each changed message → its former form. */
  readonly reshaped: ReadonlyMap<Message, Message>
  readonly layersRun: readonly number[]
  /** Messages were removed, so the conversation continues in a child session. */
  readonly removedMessages: boolean
  readonly droppedRounds: number
  /** The summary was written without a model. */
  readonly fallbackSummary: boolean
  /** Nothing changed because the summary failed or was interrupted. */
  readonly aborted: boolean
  /** The error of the auxiliary model, for a warning. */
  readonly auxError?: string
  readonly tokensBefore: number
  readonly tokensAfter: number
}
