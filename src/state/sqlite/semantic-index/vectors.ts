import type { ChunkSimilarity, TextVector, UnembeddedText } from "../../../protocol/semantic-index.ts"
import type { Database } from "../connection.ts"
import { number, text } from "../row-values.ts"

/** Comparing with more vectors takes too long; only the newest are compared. */
const MAX_COMPARED = 50_000

export function readVectorDimensions(db: Database): number | undefined {
  const row = db.get("SELECT dims FROM memory_vectors LIMIT 1")
  return row === undefined ? undefined : number(row, "dims")
}

export function deleteVectors(db: Database): void {
  db.run("DELETE FROM memory_vectors")
}

export function readTextsWithoutVector(db: Database, limit: number): readonly UnembeddedText[] {
  return db
    .all(
      `SELECT text_hash, text FROM entries e WHERE NOT EXISTS (SELECT 1 FROM memory_vectors v WHERE v.text_hash = e.text_hash)
       GROUP BY text_hash ORDER BY max(id) DESC LIMIT ?`,
      limit,
    )
    .map((row) => ({ textHash: text(row, "text_hash"), text: text(row, "text") }))
}

/** Stores normalized vectors, so that the cosine is a plain dot product. Equal texts share one vector. */
export function putVectors(db: Database, vectors: readonly TextVector[]): void {
  for (const { textHash, vector } of vectors) {
    db.run(
      `INSERT OR REPLACE INTO memory_vectors(kind, ref, chunk, text_hash, dims, vector, created_at)
       SELECT kind, ref, chunk, text_hash, ?, ?, created_at FROM entries WHERE text_hash = ? ORDER BY id LIMIT 1`,
      vector.length,
      littleEndian(normalized(vector)),
      textHash,
    )
  }
}

export function nearestChunks(
  db: Database,
  vector: Float32Array,
  page: { readonly kinds: readonly string[]; readonly limit: number },
): readonly ChunkSimilarity[] {
  const query = normalized(vector)
  const rows = db.iterate(
    `SELECT e.id, v.vector FROM entries e JOIN memory_vectors v ON v.text_hash = e.text_hash
     WHERE v.dims = ? AND e.kind IN (SELECT value FROM json_each(?)) ORDER BY e.id DESC LIMIT ${MAX_COMPARED}`,
    vector.length,
    JSON.stringify(page.kinds),
  )
  const similarities: ChunkSimilarity[] = []
  for (const row of rows) {
    const bytes = row["vector"]
    if (bytes instanceof Uint8Array && bytes.length === query.length * 4) {
      similarities.push({ id: number(row, "id"), cosine: dotProduct(query, bytes) })
    }
  }
  return similarities.toSorted((a, b) => b.cosine - a.cosine || b.id - a.id).slice(0, page.limit)
}

/** A plain loop over an aligned view: this runs for every stored vector. */
function dotProduct(query: Float32Array, bytes: Uint8Array): number {
  if (!IS_LITTLE_ENDIAN) return dotProductBytewise(query, bytes)
  const isAligned = bytes.byteOffset % 4 === 0
  const stored = isAligned
    ? new Float32Array(bytes.buffer, bytes.byteOffset, query.length)
    : new Float32Array(bytes.slice().buffer)
  let sum = 0
  for (let index = 0; index < query.length; index += 1) sum += (query[index] ?? 0) * (stored[index] ?? 0)
  return sum
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

function dotProductBytewise(query: Float32Array, bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let sum = 0
  for (const [index, value] of query.entries()) sum += value * view.getFloat32(index * 4, true)
  return sum
}

function normalized(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((value) => value / length)
}

function littleEndian(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * 4)
  const view = new DataView(bytes.buffer)
  for (const [index, value] of vector.entries()) view.setFloat32(index * 4, value, true)
  return bytes
}
