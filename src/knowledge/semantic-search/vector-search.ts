import type { Clock } from "../../base/clock.ts"
import type { EntryKind, IndexedChunk, SemanticIndex } from "../../protocol/semantic-index.ts"

/** Computes embeddings. Implemented over HTTP in `llm`. */
export interface Embedder {
  /** Names the model and its dimensions. Vectors of different ids cannot be compared. */
  readonly id: string
  /** Returns one vector per text, all of the same length. May reject; search then uses words only. */
  embed(
    texts: readonly string[],
    options: { readonly purpose: "document" | "query"; readonly signal: AbortSignal },
  ): Promise<readonly Float32Array[]>
}

export interface VectorSearch {
  /** Computes vectors for a batch of texts that have none yet. `more`: call again. */
  embedMissing(signal: AbortSignal): Promise<{ readonly more: boolean }>
  /** Returns chunks with their cosine similarity to the query, 0 to 1, best first; none when the embedder takes too long. */
  findSimilar(
    query: string,
    page: {
      readonly kinds: readonly EntryKind[]
      readonly isIncluded: (id: number) => boolean
      readonly limit: number
    },
  ): Promise<ReadonlyMap<IndexedChunk, number>>
}

const BATCH = 64

/** Factor by which to fetch more than the limit, because the filter drops some. */
const OVERFETCH = 4

/** How long a search waits for the embedding of its query. */
const QUERY_MS = 300

/** After that, searches use words only for this long, unless the embedding arrives after all. */
const PAUSE_MS = 30_000

const EMBEDDER_KEY = "embedder"

/** When the embedder or the length of its vectors changes, the stored ones are deleted and computed again. */
export function createVectorSearch(index: SemanticIndex, embedder: Embedder, clock: Clock): VectorSearch {
  let last: { readonly query: string; readonly vector: Float32Array } | undefined
  const prepare = async (): Promise<void> => {
    if ((await index.metadata(EMBEDDER_KEY)) === embedder.id) return
    await index.deleteVectors()
    await index.setMetadata(EMBEDDER_KEY, embedder.id)
  }
  let pausedUntil = 0
  const embedQuery = async (query: string): Promise<Float32Array | undefined> => {
    if (last?.query === query) return last.vector
    if (clock.now() < pausedUntil) return undefined
    const waiting = new AbortController()
    const embedding = tryEmbed(embedder, [query], { purpose: "query", signal: NEVER }).then((vectors) => {
      const vector = vectors?.[0]
      if (vector !== undefined) [last, pausedUntil] = [{ query, vector }, 0]
      return vector
    })
    const outcome = await Promise.race([embedding, timeLimit(clock, waiting.signal)])
    waiting.abort()
    if (outcome !== "late") return outcome
    // The request goes on, so that its connection is open and its result known next time.
    pausedUntil = clock.now() + PAUSE_MS
    return undefined
  }
  return {
    embedMissing: async (signal) => {
      await prepare()
      const texts = await index.textsWithoutVector(BATCH)
      if (texts.length === 0) return { more: false }
      const vectors = await tryEmbed(
        embedder,
        texts.map(({ text }) => text),
        { purpose: "document", signal },
      )
      if (vectors === undefined) return { more: false }
      const dims = await index.vectorDimensions()
      if (dims !== undefined && dims !== vectors[0]?.length) await index.deleteVectors()
      await index.putVectors(
        texts.flatMap(({ textHash }, at) => {
          const vector = vectors[at]
          return vector === undefined ? [] : [{ textHash, vector }]
        }),
      )
      return { more: true }
    },
    findSimilar: async (query, page) => {
      if ((await index.vectorDimensions()) === undefined || (await index.metadata(EMBEDDER_KEY)) !== embedder.id) {
        return new Map()
      }
      const vector = await embedQuery(query)
      if (vector === undefined) return new Map()
      const nearest = await index.nearest(vector, { kinds: page.kinds, limit: page.limit * OVERFETCH })
      const found = nearest.filter(({ id }) => page.isIncluded(id)).slice(0, page.limit)
      const chunks = await index.chunks(found.map(({ id }) => id))
      const byId = new Map(chunks.map((chunk) => [chunk.id, chunk]))
      return new Map(
        found.flatMap(({ id, cosine }) => {
          const chunk = byId.get(id)
          return chunk === undefined ? [] : [[chunk, Math.max(0, cosine)] as const]
        }),
      )
    },
  }
}

async function timeLimit(clock: Clock, signal: AbortSignal): Promise<"late"> {
  try {
    await clock.sleep(QUERY_MS, { signal })
  } catch {
    // The embedding arrived first, so the result is not used.
  }
  return "late"
}

const NEVER = new AbortController().signal

async function tryEmbed(
  embedder: Embedder,
  texts: readonly string[],
  options: Parameters<Embedder["embed"]>[1],
): Promise<readonly Float32Array[] | undefined> {
  try {
    const vectors = await embedder.embed(texts, options)
    const [first] = vectors
    if (first === undefined || vectors.length !== texts.length) return undefined
    return vectors.every(({ length }) => length > 0 && length === first.length) ? vectors : undefined
  } catch {
    // Embedding is optional: search by words works without it. The embedder reports its failures.
    return undefined
  }
}
