import type { IndexedChunk, SemanticIndex, EntryKind } from "../../protocol/semantic-index.ts"

/** Returns one vector per text, all of the same length. May reject; search then uses keywords only. */
export type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>

export interface VectorSearch {
  /** Computes vectors for a batch of texts that have none yet. */
  embedMissing(): Promise<void>
  /** Returns chunks with their cosine similarity to the query, 0 to 1. */
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

/** When the embedder starts to return vectors of another length, the stored ones are deleted and computed again. */
export function createVectorSearch(index: SemanticIndex, embed: Embed): VectorSearch {
  const tryEmbed = async (texts: readonly string[]): Promise<readonly Float32Array[] | undefined> => {
    try {
      const vectors = await embed(texts)
      const [first] = vectors
      if (first === undefined || vectors.length !== texts.length) return undefined
      return vectors.every(({ length }) => length > 0 && length === first.length) ? vectors : undefined
    } catch {
      // Embedding is optional: keyword search still works without it.
      return undefined
    }
  }
  return {
    embedMissing: async () => {
      const texts = await index.textsWithoutVector(BATCH)
      if (texts.length === 0) return
      const vectors = await tryEmbed(texts.map(({ text }) => text))
      if (vectors === undefined) return
      const dims = await index.vectorDimensions()
      if (dims !== undefined && dims !== vectors[0]?.length) await index.deleteVectors()
      await index.putVectors(
        texts.flatMap(({ textHash }, index) => {
          const vector = vectors[index]
          return vector === undefined ? [] : [{ textHash, vector }]
        }),
      )
    },
    findSimilar: async (query, page) => {
      if ((await index.vectorDimensions()) === undefined) return new Map()
      const [vector] = (await tryEmbed([query])) ?? []
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
