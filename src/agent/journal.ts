import type { Result } from "../base/result.ts"
import type { ModelRuntime } from "../llm/model.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Message } from "../protocol/message.ts"
import type { Usage } from "../protocol/usage.ts"
import type { CallCost } from "./spending.ts"

/**
 * The durable side of a conversation. Only `Conversation` calls it, so that nothing is shown before it is stored. Every
 * method rejects when the store failed.
 */
export interface Journal {
  append(messages: readonly Message[], call?: BilledCall): Promise<void>
  /** Keeps the text so far of the reply that is being streamed, until the next `append`. After a crash the session resumes with it. Never throws. */
  keepPartial(text: string): void
  /** Stores the form in which messages are sent from now on (new form → former form); the original stays. */
  reshape(changes: ReadonlyMap<Message, Message>): Promise<void>
  /** Continues the session in a child that starts with these messages. Fails when another process did so in the meantime. */
  rotate(messages: readonly Message[]): Promise<Result<Rotation>>
  /** Takes this message and everything after it out of the session. */
  rewind(from: Message, options?: RewindOptions): Promise<void>
  /** Excludes compression by other processes; undefined when one of them holds the lock for too long. */
  lockCompression(signal: AbortSignal): Promise<CompressionLock | undefined>
}

export interface RewindOptions {
  /** The message was not accepted. A session that was created for it is deleted again. */
  readonly refused?: boolean
}

export interface Rotation {
  readonly id: SessionId
  readonly system: string
}

export interface CompressionLock {
  release(): Promise<void>
}

/** One model call, for the totals of the session. */
export interface BilledCall {
  readonly usage: Usage
  readonly cost: CallCost
  /** The model that answered: the configured one or a fallback. */
  readonly runtime: ModelRuntime
}
