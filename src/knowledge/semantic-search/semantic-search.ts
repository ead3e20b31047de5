import { lazy } from "../../base/lazy.ts"
import type { Clock } from "../../base/clock.ts"
import { epochSeconds } from "../../base/clock.ts"
import { bestCandidates, selectiveForms } from "./candidates.ts"
import { chunkEntry } from "./entry-chunks.ts"
import type { IndexEntry } from "./entry-chunks.ts"
import { indexSessions } from "./index-sessions.ts"
import type { SyncOptions, SessionSource } from "./index-sessions.ts"
import { createLexicon } from "./lexicon.ts"
import type { Lexicon } from "./lexicon.ts"
import { resolveConcepts } from "./resolve-concepts.ts"
import { parseConcepts } from "./concepts.ts"
import { diversify, hybridScores, keywordScores } from "./ranking.ts"
import type { Scored } from "./ranking.ts"
import type { IndexedChunk, TextChunk, SemanticIndex, EntryKind } from "../../protocol/semantic-index.ts"
import { createVectorSearch } from "./vector-search.ts"
import type { Embedder, VectorSearch } from "./vector-search.ts"

/** Semantic search over sessions, memory and learnings. Operations reject when the index cannot be used. */
export interface SemanticSearch {
  /** Adds the entries, replacing those with the same kind and ref. */
  index(entries: readonly IndexEntry[]): Promise<void>
  /** Replaces all entries of a kind. */
  replace(kind: EntryKind, entries: readonly Omit<IndexEntry, "kind">[]): Promise<void>
  /** Removes a ref. A session id removes all messages of that session. */
  remove(ref: string): Promise<void>
  search(query: string, options: SemanticQueryOptions): Promise<readonly SemanticHit[]>
  /** Chunks whose embedding is similar to that of the query, best first; none without an embedder, or when it takes too long. */
  searchVectors(query: string, options: SemanticQueryOptions): Promise<readonly SemanticHit[]>
  /** Indexes new messages, most recent sessions first, until the time budget is used up. */
  syncSessions(source: SessionSource, options: SyncOptions): Promise<{ readonly complete: boolean }>
  /** Computes embeddings for a batch of texts that have none yet. `more`: call again. */
  embedMissing(signal: AbortSignal): Promise<{ readonly more: boolean }>
}

export interface SemanticQueryOptions {
  readonly limit: number
  /** Default: all kinds. */
  readonly kinds?: readonly EntryKind[]
  /** Refs to leave out, with the refs below them, because the caller already sees them. */
  readonly except?: readonly string[]
  /** Only the ranking by words and related words, for a caller that combines rankings itself. */
  readonly wordsOnly?: boolean
}

export interface SemanticHit {
  readonly kind: EntryKind
  readonly ref: string
  /** The chunk that matches. */
  readonly text: string
  readonly createdAt: number
  /** 0 to 1. Comparable only between hits of the same search. */
  readonly score: number
}

export interface SemanticSearchOptions {
  readonly index: SemanticIndex
  readonly clock: Clock
  /** Default: created on first use. */
  readonly lexicon?: Lexicon
  /** Without an embedder, or when it fails, search uses words only. */
  readonly embedder?: Embedder
}

const ALL_KINDS: readonly EntryKind[] = ["session", "memory", "user", "learning"]

const NO_SIMILARITIES: ReadonlyMap<IndexedChunk, number> = new Map()

/** How many chunks each of keyword and vector search contributes to the ranking. */
const MAX_CANDIDATES = 100

export function createSemanticSearch({ index, clock, lexicon, embedder }: SemanticSearchOptions): SemanticSearch {
  // Created on first use: building it takes a few milliseconds.
  const getLexicon = lazy(() => prepareLexicon(index, lexicon ?? createLexicon()))
  const vectors = embedder === undefined ? undefined : createVectorSearch(index, embedder, clock)

  const searchKeywords = async (
    query: string,
    isIncluded: (id: number) => boolean,
  ): Promise<ReadonlyMap<IndexedChunk, number>> => {
    const lexicon = await getLexicon()
    const { concepts, statistics } = await resolveConcepts(parseConcepts(query, lexicon), index, lexicon)
    const forms = selectiveForms(concepts, statistics)
    const postings = await index.postings(forms.flatMap(({ terms }) => terms))
    const ids = bestCandidates({ concepts, statistics, postings }, { limit: MAX_CANDIDATES, isIncluded })
    return keywordScores(concepts, await index.chunks(ids), statistics)
  }

  const findSimilar: VectorSearch["findSimilar"] = async (query, page) =>
    (await vectors?.findSimilar(query, page)) ?? new Map<IndexedChunk, number>()

  return {
    index: async (entries) => {
      const lexicon = await getLexicon()
      const chunked = entries.map((entry) => ({ ref: entry.ref, chunks: chunkEntry(entry, lexicon) }))
      for (const { ref, chunks } of chunked) if (chunks.length === 0) await index.remove(ref)
      await index.put(chunked.flatMap(({ chunks }) => chunks))
    },
    replace: async (kind, entries) => {
      const lexicon = await getLexicon()
      const stored = Map.groupBy(await index.refs(kind), ({ ref }) => ref)
      const chunks = entries.flatMap((entry) => chunkEntry({ ...entry, kind }, lexicon))
      const incoming = Map.groupBy(chunks, ({ ref }) => ref)
      for (const ref of stored.keys()) if (!incoming.has(ref)) await index.remove(ref)
      const changed = [...incoming].filter(([ref, parts]) => hashes(stored.get(ref) ?? []) !== hashes(parts))
      if (changed.length === 0) return
      await index.put(changed.flatMap(([, parts]) => parts))
    },
    remove: (ref) => index.remove(ref),
    search: async (query, { limit, kinds = ALL_KINDS, except = [], wordsOnly = false }) => {
      const isIncluded = await chunkFilter(index, { kinds, except })
      // The embedding is requested first, so that it arrives while the words are searched.
      const similar = wordsOnly ? NO_SIMILARITIES : findSimilar(query, { kinds, isIncluded, limit: MAX_CANDIDATES })
      const keyword = await searchKeywords(query, isIncluded)
      const scored = hybridScores({ keyword, cosine: await similar, now: epochSeconds(clock) })
      return diversify(scored, limit).map(toHit)
    },
    searchVectors: async (query, { limit, kinds = ALL_KINDS, except = [] }) => {
      const isIncluded = await chunkFilter(index, { kinds, except })
      const similar = await findSimilar(query, { kinds, isIncluded, limit })
      return [...similar].map(([chunk, score]) => toHit({ chunk, score }))
    },
    syncSessions: async (source, options) => {
      return await indexSessions(index, source, { ...options, clock, lexicon: await getLexicon() })
    },
    embedMissing: async (signal) => (await vectors?.embedMissing(signal)) ?? { more: false },
  }
}

function toHit({ chunk: { kind, ref, text, createdAt }, score }: Scored): SemanticHit {
  return { kind, ref, text, createdAt, score }
}

/**
 * Returns the filter of a search. Nearly all chunks belong to sessions, so it reads the ids of the other kinds and infers the rest.
 */
async function chunkFilter(
  index: SemanticIndex,
  { kinds, except }: { readonly kinds: readonly EntryKind[]; readonly except: readonly string[] },
): Promise<(id: number) => boolean> {
  const otherKinds = ALL_KINDS.filter((kind) => !kinds.includes(kind))
  const withSessions = kinds.includes("session")
  const listed = new Set(otherKinds.length === 0 ? [] : await index.idsOfKinds(withSessions ? otherKinds : kinds))
  const isKind = withSessions ? (id: number): boolean => !listed.has(id) : (id: number): boolean => listed.has(id)
  const excluded = new Set<number>()
  for (const ref of except) for (const id of await index.idsUnderRef(ref)) excluded.add(id)
  return (id) => isKind(id) && !excluded.has(id)
}

const LEXICON_KEY = "lexicon"

/** Empties an index whose terms were produced by another version of the lexicon. */
async function prepareLexicon(index: SemanticIndex, lexicon: Lexicon): Promise<Lexicon> {
  if ((await index.metadata(LEXICON_KEY)) !== lexicon.version) {
    await index.clear()
    await index.setMetadata(LEXICON_KEY, lexicon.version)
  }
  return lexicon
}

function hashes(parts: readonly Pick<TextChunk, "chunk" | "textHash">[]): string {
  return parts
    .toSorted((a, b) => a.chunk - b.chunk)
    .map(({ textHash }) => textHash)
    .join(" ")
}
