import type { SessionId } from "./identifiers.ts"

/** Where an indexed text comes from: a session transcript, MEMORY.md, USER.md or the learnings. */
export type EntryKind = "session" | "memory" | "user" | "learning"

/** A text, or one part of a long text, with the terms it is found by. */
export interface TextChunk {
  readonly kind: EntryKind
  /** Identifies the text at its source, for example a session id and message id. */
  readonly ref: string
  /** Index of this part within the text. */
  readonly chunk: number
  readonly text: string
  /** In order and with repetitions. */
  readonly terms: readonly string[]
  readonly textHash: string
  /** Epoch seconds. */
  readonly createdAt: number
}

export interface IndexedChunk extends TextChunk {
  readonly id: number
}

export type IndexedRef = Pick<TextChunk, "ref" | "chunk" | "textHash">

/** Statistics over all chunks, from which the ranking computes term weights. */
export interface TermStatistics {
  readonly chunkCount: number
  readonly averageLength: number
  /** Number of chunks that contain each term. Terms that occur in no chunk are absent. */
  readonly documentFrequency: ReadonlyMap<string, number>
}

/** How much of a session is in the index. */
export interface IndexedSession {
  readonly sessionId: SessionId
  readonly lastMessageId: number
  readonly lastActivity: number
  readonly messageCount: number
}

/** A text that has no embedding yet. */
export interface UnembeddedText {
  readonly textHash: string
  readonly text: string
}

/** Chunks with equal text share one vector. */
export interface TextVector {
  readonly textHash: string
  readonly vector: Float32Array
}

export interface ChunkSimilarity {
  readonly id: number
  readonly cosine: number
}

/**
 * The database behind semantic search. `state` implements it and `knowledge` queries it. It holds only copies, so its file may be
 * deleted at any time and is then rebuilt. Operations reject with a `StoreError` when the database cannot be used.
 */
export interface SemanticIndex {
  /**
   * Replaces everything stored under the kinds and refs of the chunks. With `session`, records in the same transaction how much of
   * that session is indexed.
   */
  put(chunks: readonly TextChunk[], session?: IndexedSession): Promise<void>
  /** Deletes everything. */
  clear(): Promise<void>
  /** Deletes a ref and all refs below it (`<ref>#…`). */
  remove(ref: string): Promise<void>
  refs(kind: EntryKind): Promise<readonly IndexedRef[]>

  /** The ids of the chunks that contain each term. */
  postings(terms: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>>
  idsOfKinds(kinds: readonly EntryKind[]): Promise<readonly number[]>
  /** Includes all refs below `ref`. */
  idsUnderRef(ref: string): Promise<readonly number[]>
  chunks(ids: readonly number[]): Promise<readonly IndexedChunk[]>
  termStatistics(terms: readonly string[]): Promise<TermStatistics>
  /** Indexed terms that start with `prefix` and are longer, most frequent first. */
  termsWithPrefix(prefix: string, limit: number): Promise<readonly string[]>
  /** Indexed terms that share most trigrams with `term`, plus some that start with the same letters. */
  similarTerms(term: string, limit: number): Promise<readonly string[]>

  indexedSessions(ids: readonly SessionId[]): Promise<ReadonlyMap<SessionId, IndexedSession>>
  indexedSessionIds(): Promise<readonly SessionId[]>
  metadata(key: string): Promise<string | undefined>
  setMetadata(key: string, value: string): Promise<void>

  vectorDimensions(): Promise<number | undefined>
  deleteVectors(): Promise<void>
  /** Newest first. */
  textsWithoutVector(limit: number): Promise<readonly UnembeddedText[]>
  putVectors(vectors: readonly TextVector[]): Promise<void>
  /** Highest cosine similarity first. */
  nearest(
    vector: Float32Array,
    page: { readonly kinds: readonly EntryKind[]; readonly limit: number },
  ): Promise<readonly ChunkSimilarity[]>

  close(): Promise<void>
}
