import type { SessionId } from "./identifiers.ts"

/**
 * The word index of the stored messages. `state` implements it and `knowledge` ranks what it finds. Everything is empty when the
 * database cannot be searched.
 */
export interface MessageWords {
  /** The id of the newest message: about the number of messages, without counting them. */
  highestId(): Promise<number>
  /** For each range, the indexed words from `first` up to, but without, `end`. */
  between(ranges: readonly WordRange[]): Promise<readonly (readonly IndexedWord[])[]>
  /** For each group, the ids of the messages that contain one of its words, in the text or in a tool call. */
  messagesWith(
    groups: readonly (readonly string[])[],
    scope: Pick<MessageScope, "sessions">,
  ): Promise<readonly (readonly number[])[]>
  /** The ids of messages of these sessions that contain the text literally. */
  containing(literal: string, sessions: readonly string[]): Promise<readonly number[]>
  /** The newest message of the user in a session. */
  newestPrompt(session: SessionId): Promise<SearchableMessage | undefined>
  /** The ids of the messages of a session, ascending. */
  idsOfSession(session: SessionId): Promise<readonly number[]>
  /** The messages with these ids that are in scope, in the order of the ids. */
  inScope(ids: readonly number[], scope: MessageScope): Promise<readonly SearchableMessage[]>
  /** The user and assistant messages that were stored up to `distance` ids before or after the given ones, with those, by id. */
  around(ids: readonly number[], distance: number): Promise<readonly SearchableMessage[]>
}

export interface IndexedWord {
  readonly word: string
  /** The number of messages that contain it. */
  readonly messages: number
}

export interface WordRange {
  readonly first: string
  readonly end: string
  readonly limit: number
}

/** Which messages a search considers. */
export interface MessageScope {
  readonly sources?: readonly string[]
  readonly excludeSources?: readonly string[]
  readonly roles?: readonly string[]
  /** Epoch seconds, inclusive. */
  readonly after?: number
  /** Epoch seconds, exclusive. */
  readonly before?: number
  /** Only messages of these sessions. */
  readonly sessions?: readonly string[]
}

/** A stored message, as far as searching needs it. */
export interface SearchableMessage {
  readonly id: number
  readonly sessionId: SessionId
  readonly role: string
  readonly text: string
  readonly toolName: string | null
  readonly timestamp: number
  /** The names of the tools that the message calls. */
  readonly calledTools: readonly string[]
  /** Hermes wrote it, not the user or the model: a note or a compression summary. */
  readonly isGenerated: boolean
}
