import type { SessionId } from "../../protocol/identifiers.ts"

export type RecallKind = "session" | "memory" | "user" | "learning"

/** A text, or one part of a long one, as the index keeps it. */
export interface IndexChunk {
  readonly kind: RecallKind
  readonly ref: string
  readonly chunk: number
  readonly text: string
  readonly terms: readonly string[]
  readonly textHash: string
  /** Epoch seconds. */
  readonly createdAt: number
}

export interface FoundChunk extends IndexChunk {
  readonly id: number
}

export interface TermUse {
  readonly entries: number
  readonly averageTerms: number
  readonly uses: ReadonlyMap<string, number>
}

/** How far a session's messages are in the index. */
export interface SessionMark {
  readonly sessionId: SessionId
  readonly lastMessageId: number
  readonly lastActivity: number
  readonly messageCount: number
}

interface Page {
  readonly kinds: readonly RecallKind[]
  readonly limit: number
}

/** What recall needs of a database; `state` has one. */
export interface RecallIndex {
  /** Replaces what is kept under the kinds and refs of the chunks. */
  put(chunks: readonly IndexChunk[], mark?: SessionMark): Promise<void>
  /** Forgets everything. */
  clear(): Promise<void>
  /** Removes a ref, and with it all refs below (`<ref>#…`). */
  remove(ref: string): Promise<void>
  refs(kind: RecallKind): Promise<readonly Pick<IndexChunk, "ref" | "chunk" | "textHash">[]>
  /** The entries that hold a term, by id. */
  postings(terms: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>
  idsOf(kinds: readonly RecallKind[]): Promise<readonly number[]>
  /** Of a ref and all refs below it. */
  idsUnder(ref: string): Promise<readonly number[]>
  chunks(ids: readonly number[]): Promise<readonly FoundChunk[]>
  termUse(terms: readonly string[]): Promise<TermUse>
  termsFrom(prefix: string, limit: number): Promise<readonly string[]>
  termsAlike(term: string, limit: number): Promise<readonly string[]>
  marks(ids: readonly SessionId[]): Promise<ReadonlyMap<SessionId, SessionMark>>
  markedSessions(): Promise<readonly SessionId[]>
  note(key: string): Promise<string | undefined>
  setNote(key: string, value: string): Promise<void>
  vectorDims(): Promise<number | undefined>
  dropVectors(): Promise<void>
  withoutVector(limit: number): Promise<readonly { readonly textHash: string; readonly text: string }[]>
  putVectors(vectors: readonly { readonly textHash: string; readonly vector: Float32Array }[]): Promise<void>
  nearest(vector: Float32Array, page: Page): Promise<readonly { readonly id: number; readonly cosine: number }[]>
}
