import type { Database } from "./connection.ts"
import { number, text } from "./row-values.ts"

/** A text that a vector can be made for. */
export interface TextHash {
  readonly textHash: string
  readonly text: string
}

export interface NearChunk {
  readonly id: number
  readonly cosine: number
}

/** Beyond this, comparing with every vector takes too long; the newest are compared. */
const MAX_COMPARED = 50_000

export function vectorDims(db: Database): number | undefined {
  const row = db.get("SELECT dims FROM memory_vectors LIMIT 1")
  return row === undefined ? undefined : number(row, "dims")
}

export function dropVectors(db: Database): void {
  db.run("DELETE FROM memory_vectors")
}

export function readChunksWithoutVector(db: Database, limit: number): readonly TextHash[] {
  return db
    .all(
      `SELECT text_hash, text FROM entries e WHERE NOT EXISTS (SELECT 1 FROM memory_vectors v WHERE v.text_hash = e.text_hash)
       GROUP BY text_hash ORDER BY max(id) DESC LIMIT ?`,
      limit,
    )
    .map((row) => ({ textHash: text(row, "text_hash"), text: text(row, "text") }))
}

/** Kept with length 1, so that comparing needs no division. Equal texts share one vector. */
export function keepVectors(
  db: Database,
  vectors: readonly { readonly textHash: string; readonly vector: Float32Array }[],
): void {
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
): readonly NearChunk[] {
  const wanted = normalized(vector)
  const rows = db.iterate(
    `SELECT e.id, v.vector FROM entries e JOIN memory_vectors v ON v.text_hash = e.text_hash
     WHERE v.dims = ? AND e.kind IN (SELECT value FROM json_each(?)) ORDER BY e.id DESC LIMIT ${MAX_COMPARED}`,
    vector.length,
    JSON.stringify(page.kinds),
  )
  const found: NearChunk[] = []
  for (const row of rows) {
    const bytes = row["vector"]
    if (bytes instanceof Uint8Array && bytes.length === wanted.length * 4) {
      found.push({ id: number(row, "id"), cosine: product(wanted, bytes) })
    }
  }
  return found.toSorted((a, b) => b.cosine - a.cosine || b.id - a.id).slice(0, page.limit)
}

function product(wanted: Float32Array, bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let sum = 0
  for (const [at, value] of wanted.entries()) sum += value * view.getFloat32(at * 4, true)
  return sum
}

function normalized(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector)
  return length === 0 ? vector : vector.map((value) => value / length)
}

function littleEndian(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * 4)
  const view = new DataView(bytes.buffer)
  for (const [at, value] of vector.entries()) view.setFloat32(at * 4, value, true)
  return bytes
}
