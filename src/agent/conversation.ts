import type { Result } from "../base/result.ts"
import { ok } from "../base/result.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Message } from "../protocol/message.ts"
import type { BilledCall, CompressionLock, Journal, RewindOptions, Rotation } from "./journal.ts"

/**
 * The messages of a session in the form in which they are sent, and the only owner of the current session id. Every change
 * goes through a method that stores it first and shows it afterwards. Messages are appended; only a compression or an undo
 * removes some.
 */
export class Conversation {
  readonly #journal: Journal
  readonly #messages: Message[]
  #id: SessionId
  #system: string

  constructor(start: {
    readonly id: SessionId
    readonly system: string
    readonly history: readonly Message[]
    readonly journal: Journal
  }) {
    this.#id = start.id
    this.#system = start.system
    this.#messages = [...start.history]
    this.#journal = start.journal
  }

  /** Changes when a compression continues the conversation in a child session. */
  get id(): SessionId {
    return this.#id
  }

  /** The system prompt: the same bytes for the life of the session. */
  get system(): string {
    return this.#system
  }

  get history(): readonly Message[] {
    return this.#messages
  }

  /** `call` is the model call that produced the messages. With no messages, only its cost is recorded. */
  async append(messages: readonly Message[], call?: BilledCall): Promise<void> {
    await this.#journal.append(messages, call)
    this.#messages.push(...messages)
  }

  /** Keeps the text so far of the reply that is being streamed, for the case that the process is killed. The next `append` discards it. */
  keepPartial(text: string): void {
    this.#journal.keepPartial(text)
  }

  /** Sends messages in another form (new form → former form). Only for messages that no request has carried yet. */
  async reshape(changes: ReadonlyMap<Message, Message>): Promise<void> {
    if (changes.size === 0) return
    await this.#journal.reshape(changes)
    for (const [changed, former] of changes) {
      const index = this.#messages.lastIndexOf(former)
      if (index !== -1) this.#messages[index] = changed
    }
  }

  /** Adopts a compressed history of the same session; `reshaped` maps each changed message to its former form. */
  async compress(messages: readonly Message[], reshaped: ReadonlyMap<Message, Message>): Promise<void> {
    await this.#journal.reshape(reshaped)
    this.#replace(messages)
  }

  /** Continues in a child session that starts with these messages; a failure leaves everything as it is. */
  async rotate(messages: readonly Message[]): Promise<Result<SessionId>> {
    const rotated = await this.#journal.rotate(messages)
    if (!rotated.ok) return rotated
    this.adopt({ ...rotated.value, messages })
    return ok(this.#id)
  }

  /** Removes the message at this index and everything after it. */
  async rewind(index: number, options?: RewindOptions): Promise<void> {
    const first = this.#messages[index]
    if (first === undefined) return
    await this.#journal.rewind(first, options)
    this.#messages.length = index
  }

  /** Adopts the state that another process stored. */
  adopt(stored: Rotation & { readonly messages: readonly Message[] }): void {
    this.#id = stored.id
    this.#system = stored.system
    this.#replace(stored.messages)
  }

  async lockCompression(signal: AbortSignal): Promise<CompressionLock | undefined> {
    return await this.#journal.lockCompression(signal)
  }

  #replace(messages: readonly Message[]): void {
    this.#messages.splice(0, this.#messages.length, ...messages)
  }
}
