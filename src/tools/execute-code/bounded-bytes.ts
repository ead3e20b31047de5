/** Keeps the head (40 %) and the tail (60 %) of a stream of any length in bounded memory. */
export class BoundedBytes {
  readonly #headLimit: number
  readonly #tailLimit: number
  #head: Uint8Array[] = []
  #headBytes = 0
  #tail: Uint8Array[] = []
  #tailBytes = 0
  #total = 0

  constructor(maxBytes: number, { headShare = 0.4 }: { readonly headShare?: number } = {}) {
    this.#headLimit = Math.floor(maxBytes * headShare)
    this.#tailLimit = maxBytes - this.#headLimit
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length
    const room = this.#headLimit - this.#headBytes
    const head = chunk.subarray(0, Math.max(0, room))
    if (head.length > 0) this.#head.push(head)
    this.#headBytes += head.length
    const rest = chunk.subarray(head.length)
    if (rest.length === 0) return
    this.#tail.push(rest)
    this.#tailBytes += rest.length
    // Joining only when the tail has doubled keeps the cost per chunk constant.
    if (this.#tailBytes > 2 * this.#tailLimit + CHUNK_BYTES) this.#tail = [this.#cutTail()]
    this.#tailBytes = this.#tail.reduce((sum, part) => sum + part.length, 0)
  }

  /** The text as UTF-8, cut between characters, with a notice of what is missing. */
  toString(): string {
    const head = Buffer.concat(this.#head)
    const tail = this.#cutTail()
    const omitted = this.#total - head.length - tail.length
    if (omitted === 0) return decode(Buffer.concat([head, tail]))
    const first = head.subarray(0, lastBoundary(head))
    const last = tail.subarray(firstBoundary(tail))
    const missing = this.#total - first.length - last.length
    const notice = `\n\n[... ${missing} of ${this.#total} bytes left out ...]\n\n`
    return decode(first) + notice + decode(last)
  }

  #cutTail(): Buffer {
    const tail = Buffer.concat(this.#tail)
    return tail.subarray(Math.max(0, tail.length - this.#tailLimit))
  }
}

const CHUNK_BYTES = 64 * 1024

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8").decode(bytes)
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** Where the last complete character ends. */
function lastBoundary(bytes: Uint8Array): number {
  let start = bytes.length - 1
  while (start > 0 && bytes.length - start < 4 && isContinuation(bytes[start])) start -= 1
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start + length <= bytes.length ? bytes.length : Math.max(0, start)
}

function firstBoundary(bytes: Uint8Array): number {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start += 1
  return start
}
