import type { Result } from "../base/result.ts"
import type { ModelRuntime } from "../llm/model.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Message } from "../protocol/message.ts"
import type { Usage } from "../protocol/usage.ts"
import type { CallCost } from "./spending.ts"

/** Persist, then proceed (law 2): nothing depends on a message before it is stored. Every method rejects when storing failed. */
export interface Journal {
  append(messages: readonly Message[], call?: BilledCall): Promise<void>
  /** These messages (new form → former form) are sent in another form from now on; what is stored of them stays. */
  reshape(changes: ReadonlyMap<Message, Message>): Promise<void>
  /** The conversation goes on in a child session that starts with these messages; refused when others did so meanwhile. */
  rotate(messages: readonly Message[]): Promise<Result<Rotation>>
  /** The right to compress, as long as the work runs; undefined when another process has it and does not give it up. */
  lockCompression(signal: AbortSignal): Promise<CompressionLock | undefined>
}

export interface Rotation {
  readonly id: SessionId
  readonly system: string
}

export interface CompressionLock {
  release(): Promise<void>
}

/** One model call as the session's totals count it. */
export interface BilledCall {
  readonly usage: Usage
  readonly cost: CallCost
  /** Who answered: the first choice, or what took its place. */
  readonly runtime: ModelRuntime
}
