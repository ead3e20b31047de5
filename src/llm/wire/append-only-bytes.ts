/** Untouched pages of a chunk take no memory, and a body of a few large chunks is sent with few system calls. */
const CHUNK_BYTES = 256 * 1024

interface Chunk {
  readonly bytes: Buffer
  /** Offset of its first byte in the whole. */
  readonly start: number
  used: number
}

/**
 * UTF-8 text that grows at its end. Bytes are never overwritten, not even after `truncate`: a request that is still being sent
 * refers to them.
 */
export class AppendOnlyBytes {
  readonly #chunks: Chunk[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  append(text: string): void {
    const needed = Buffer.byteLength(text)
    const chunk = this.#chunkFor(needed)
    chunk.bytes.write(text, chunk.used)
    chunk.used += needed
    this.#length += needed
  }

  /** Drops everything from this offset on. */
  truncate(length: number): void {
    if (length === this.#length) return
    this.#length = length
    while ((this.#chunks.at(-1)?.start ?? -1) >= length) this.#chunks.pop()
    const last = this.#chunks.at(-1)
    if (last === undefined) return
    const used = length - last.start
    // Without its unused part, so that the next text goes into a new chunk.
    this.#chunks[this.#chunks.length - 1] = { ...last, bytes: last.bytes.subarray(0, used), used }
  }

  /** The bytes between two offsets, without copying them. */
  slices(from: number, to: number): readonly Uint8Array[] {
    return this.#chunks
      .filter(({ start, used }) => start < to && start + used > from)
      .map(({ bytes, start, used }) => bytes.subarray(Math.max(0, from - start), Math.min(used, to - start)))
  }

  #chunkFor(needed: number): Chunk {
    const last = this.#chunks.at(-1)
    if (last !== undefined && last.bytes.length - last.used >= needed) return last
    const chunk = { bytes: Buffer.allocUnsafeSlow(Math.max(needed, CHUNK_BYTES)), start: this.#length, used: 0 }
    this.#chunks.push(chunk)
    return chunk
  }
}
