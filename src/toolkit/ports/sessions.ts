import type { IndexEntry } from "../../knowledge/semantic-search/entry-chunks.ts"
import type { Lexicon } from "../../knowledge/semantic-search/lexicon.ts"
import type { SemanticSearch } from "../../knowledge/semantic-search/semantic-search.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { SessionStore } from "../../state/store.ts"

/** Read access to past sessions. */
export interface SessionsPort {
  /** The current session; a compression may start a new one. */
  sessionId(): SessionId
  /** The sessions of this profile, or of another one. Rejects with a `StoreError` when they cannot be read. */
  store(profile?: string): Promise<PastSessions>
  /** Knowledge about words. Loaded on first use. */
  lexicon(): Promise<Lexicon>
  /** Semantic search in this profile. Absent where there is no index; rejects when it cannot be used. */
  semanticSearch?(): Promise<SemanticSearch>
  /** Continues to index new messages in the background. A search does not wait for it. */
  indexInBackground?(): void
  /** Entries of memory and learnings, for the same search. */
  notes?(): Promise<readonly IndexEntry[]>
}

export type PastSessions = Pick<
  SessionStore,
  | "search"
  | "words"
  | "list"
  | "session"
  | "messages"
  | "messagesAround"
  | "anchoredView"
  | "resolveId"
  | "resolveTitle"
  | "lineage"
  | "lineageRoot"
>
