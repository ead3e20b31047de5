import type { SessionId } from "../protocol/identifiers.ts"
import type { Message } from "../protocol/message.ts"

/**
 * What a session talks about: the messages in the form in which they are sent, and the session they are stored in. Messages are
 * added at the end; only a compression replaces them, and with them perhaps the session.
 */
export class Conversation {
  readonly history: Message[]
  #id: SessionId
  #system: string

  constructor(start: { readonly id: SessionId; readonly system: string; readonly history: readonly Message[] }) {
    this.#id = start.id
    this.#system = start.system
    this.history = [...start.history]
  }

  get id(): SessionId {
    return this.#id
  }

  /** The system prompt, the same bytes for the life of the session. */
  get system(): string {
    return this.#system
  }

  replaceHistory(messages: readonly Message[]): void {
    this.history.splice(0, this.history.length, ...messages)
  }

  /** The rest of the conversation is stored in a child session with a prompt of its own. */
  continueAs(child: { readonly id: SessionId; readonly system: string }, messages: readonly Message[]): void {
    this.#id = child.id
    this.#system = child.system
    this.replaceHistory(messages)
  }
}
