import type { Message } from "../../protocol/message.ts"

/**
 * Keeps a conversation within the window of its model. It decides when and how; the host (compression.ts) stores what it did
 * and checks it. Exactly one is active per session; a plugin may bring another. The messages never include the system prompt.
 */
export interface ContextEngine {
  readonly name: string
  readonly figures: ContextFigures
  /** A reply came: what its request really held (0 when the provider does not say), and what had been estimated for it. */
  updateFromResponse(prompt: { readonly realTokens: number; readonly estimatedTokens: number }): void
  /** Whether a request of this size is too large for comfort. False while two runs in a row have not helped. */
  shouldCompress(promptTokens: number): boolean
  /** The estimate is over the threshold, but the provider's own count says that there is room. */
  shouldDeferPreflight(estimatedTokens: number): boolean
  hasContentToCompress(messages: readonly Message[]): Promise<boolean>
  compress(messages: readonly Message[], options: CompressOptions): Promise<CompressOutcome>
  /** Another model answers from now on. */
  updateModel(model: EngineModel): void
}

export interface EngineModel {
  readonly provider: string
  readonly model: string
  readonly contextLength: number
}

export interface ContextFigures {
  /** -1: unknown, because a compression has just run. 0: no request yet. */
  readonly lastPromptTokens: number
  readonly thresholdTokens: number
  readonly targetTokens: number
  readonly contextLength: number
  readonly compressionCount: number
}

export interface CompressOptions {
  /** The session the messages are stored in, named in notes about what was left out. */
  readonly sessionId: string
  /** Tokens of system prompt and tool list: what every request holds besides the messages. */
  readonly overheadTokens: number
  readonly focus?: string
  /** A summary is to replace everything before the last exchanges, this many, whatever the size of either. */
  readonly keepExchanges?: number
  /** Run although recent runs did not help: the provider refused the request, or a person asked for it. */
  readonly force?: boolean
  /** A person asked for it. */
  readonly manual?: boolean
  readonly signal: AbortSignal
  /** Called before messages are given up for good; gives facts that the note or summary should carry ("" for none). */
  readonly beforeLoss: (doomed: readonly Message[], layer: 2 | 4 | 5) => Promise<string>
}

export interface CompressOutcome {
  /** Messages that did not change are the same objects, so that their encoded bytes are kept. */
  readonly messages: readonly Message[]
  /** For each message whose content changed: what it was made from. */
  readonly reshaped: ReadonlyMap<Message, Message>
  readonly layersRun: readonly number[]
  /** Messages are gone: the conversation goes on in a child session. */
  readonly removedMessages: boolean
  readonly droppedRounds: number
  /** The summary was made without a model. */
  readonly fallbackSummary: boolean
  /** Nothing was done because summarising failed or was interrupted. */
  readonly aborted: boolean
  /** What went wrong with the side model, for a warning. */
  readonly auxError?: string
  readonly tokensBefore: number
  readonly tokensAfter: number
}
