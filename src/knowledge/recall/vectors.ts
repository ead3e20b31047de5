import type { FoundChunk, RecallIndex, RecallKind } from "./recall-index.ts"

/** Vectors for texts, one each and all of one length. May fail at any time: search goes on by words. */
export type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>

export interface Vectors {
  /** Makes vectors for texts that have none yet, some at a time. */
  fill(): Promise<void>
  /** Chunks by their nearness to the query, 0 to 1. */
  near(
    query: string,
    page: {
      readonly kinds: readonly RecallKind[]
      readonly isWanted: (id: number) => boolean
      readonly limit: number
    },
  ): Promise<ReadonlyMap<FoundChunk, number>>
}

const BATCH = 64

/** So many times the limit are looked at, for those that are not wanted. */
const MORE = 4

/** The kept vectors follow the embedder: when it gives another length, all are made again. */
export function createVectors(index: RecallIndex, embed: Embed): Vectors {
  const embedded = async (texts: readonly string[]): Promise<readonly Float32Array[] | undefined> => {
    try {
      const made = await embed(texts)
      const [first] = made
      if (first === undefined || made.length !== texts.length) return undefined
      return made.every(({ length }) => length > 0 && length === first.length) ? made : undefined
    } catch {
      // No service, no money, no network: what is found by words is still found.
      return undefined
    }
  }
  return {
    fill: async () => {
      const texts = await index.withoutVector(BATCH)
      if (texts.length === 0) return
      const made = await embedded(texts.map(({ text }) => text))
      if (made === undefined) return
      const dims = await index.vectorDims()
      if (dims !== undefined && dims !== made[0]?.length) await index.dropVectors()
      await index.putVectors(
        texts.flatMap(({ textHash }, at) => {
          const vector = made[at]
          return vector === undefined ? [] : [{ textHash, vector }]
        }),
      )
    },
    near: async (query, page) => {
      if ((await index.vectorDims()) === undefined) return new Map()
      const [vector] = (await embedded([query])) ?? []
      if (vector === undefined) return new Map()
      const nearest = await index.nearest(vector, { kinds: page.kinds, limit: page.limit * MORE })
      const found = nearest.filter(({ id }) => page.isWanted(id)).slice(0, page.limit)
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
