import { isUtf8 } from "node:buffer"

import type { FileFacts, FileSystem } from "../../../exec/workspace.ts"
import { detectEncoding } from "../text/text-encoding.ts"

/** A range of lines of a text of any size. */
export interface LineWindow {
  /** The requested lines with the margins around them. Very long lines are cut. */
  readonly lines: readonly string[]
  /** The line number of the first of `lines`. */
  readonly from: number
  /** Undefined when the file was too large to count all lines. */
  readonly totalLines: number | undefined
  /** How many complete lines were counted. */
  readonly countedLines: number
  readonly bytes: number
  /** The beginning of the text, to detect binary files. */
  readonly sample: string
  /** Whether invalid bytes were replaced. */
  readonly replaced: boolean
}

export interface LineWindowRequest {
  readonly first: number
  readonly count: number
  /** Number of lines before and after the window to include. */
  readonly margin: number
  readonly maxLineChars: number
  /** After this many bytes the lines after the window are not counted. */
  readonly maxCountedBytes: number
}

const SAMPLE_CHARS = 1000

/** Reads a window with memory use independent of the file size. CRLF becomes LF; a byte order mark is removed. */
export async function readLineWindow(
  chunks: AsyncIterable<Uint8Array>,
  request: LineWindowRequest,
): Promise<LineWindow> {
  const collector = new LineCollector(request)
  let decoding: ReturnType<typeof startDecoding> | undefined
  let bytes = 0
  let sample = ""
  for await (const chunk of chunks) {
    decoding ??= startDecoding(chunk)
    bytes += chunk.byteLength
    if (collector.isComplete() && bytes > request.maxCountedBytes && sample !== "") {
      return { ...collector.window(), totalLines: undefined, bytes, sample, replaced: decoding.replaced() }
    }
    // After the window only line feeds matter, and in UTF-8 these need no decoding.
    const isPastWindow = collector.isComplete() && sample.length >= SAMPLE_CHARS
    if (isPastWindow && decoding.encoding === "utf-8") collector.count(chunk)
    else {
      const text = decoding.decode(chunk)
      if (sample.length < SAMPLE_CHARS) sample += text.slice(0, SAMPLE_CHARS - sample.length)
      collector.push(text)
    }
  }
  collector.push(decoding?.end() ?? "")
  return { ...collector.finish(), bytes, sample, replaced: decoding?.replaced() ?? false }
}

/** The chunks of a file in order: ranges where the workspace supports them, otherwise the whole file at once. */
export async function* fileChunks(
  path: string,
  facts: FileFacts,
  { files, signal }: { readonly files: FileSystem; readonly signal: AbortSignal },
): AsyncGenerator<Uint8Array, void, void> {
  if (files.readRange === undefined || facts.size <= CHUNK_BYTES) {
    yield await files.read(path)
    return
  }
  // Stops at the size when the read began: a growing log would never end.
  for (let start = 0; start < facts.size; start += CHUNK_BYTES) {
    signal.throwIfAborted()
    const chunk = await files.readRange(path, { start, length: Math.min(CHUNK_BYTES, facts.size - start) })
    if (chunk.byteLength === 0) return
    yield chunk
  }
}

const CHUNK_BYTES = 1024 * 1024

function startDecoding(head: Uint8Array) {
  const { encoding } = detectEncoding(head)
  const decoder = new TextDecoder(encoding)
  let replaced = false
  let carried: Uint8Array = new Uint8Array()
  return {
    encoding,
    decode: (chunk: Uint8Array): string => {
      const text = decoder.decode(chunk, { stream: true })
      const joined = carried.byteLength === 0 ? chunk : Buffer.concat([carried, chunk])
      const end = encoding === "utf-8" ? completeLength(joined) : joined.byteLength
      // The replacement character may also be in the file itself.
      if (text.includes(REPLACEMENT)) replaced ||= encoding !== "utf-8" || !isUtf8(joined.subarray(0, end))
      carried = joined.subarray(end)
      return text
    },
    end: (): string => {
      replaced ||= carried.byteLength > 0
      return decoder.decode()
    },
    replaced: () => replaced,
  }
}

const REPLACEMENT = "\u{FFFD}"

/** The length up to the last complete UTF-8 character: that character may continue in the next chunk. */
function completeLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const length = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1
    return length > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

const LINE_FEED = 10

class LineCollector {
  readonly #from: number
  readonly #until: number
  readonly #maxLineChars: number
  readonly #lines: string[] = []
  #number = 1
  #current = ""
  #currentIsEmpty = true

  constructor({ first, count, margin, maxLineChars }: LineWindowRequest) {
    this.#from = Math.max(1, first - margin)
    this.#until = first + count + margin
    this.#maxLineChars = maxLineChars
  }

  push(text: string): void {
    let at = 0
    for (let feed = text.indexOf("\n"); feed !== -1; feed = text.indexOf("\n", at)) {
      this.#append(text, at, feed)
      this.#endLine()
      at = feed + 1
    }
    this.#append(text, at, text.length)
  }

  count(bytes: Uint8Array): void {
    let feeds = 0
    for (let index = 0; index < bytes.length; index += 1) if (bytes[index] === LINE_FEED) feeds += 1
    this.#number += feeds
    if (bytes.length > 0) this.#currentIsEmpty = bytes.at(-1) === LINE_FEED
  }

  isComplete(): boolean {
    return this.#number >= this.#until
  }

  window(): Pick<LineWindow, "lines" | "from" | "countedLines"> {
    return { lines: this.#lines, from: this.#from, countedLines: this.#number - 1 }
  }

  finish(): Pick<LineWindow, "lines" | "from" | "countedLines" | "totalLines"> {
    const hasLastLine = !this.#currentIsEmpty
    if (hasLastLine && this.#isWanted()) this.#lines.push(this.#current)
    return { ...this.window(), totalLines: this.#number - (hasLastLine ? 0 : 1) }
  }

  #isWanted(): boolean {
    return this.#number >= this.#from && this.#number < this.#until
  }

  #append(text: string, start: number, end: number): void {
    if (start === end) return
    this.#currentIsEmpty = false
    const room = this.#maxLineChars - this.#current.length
    if (room > 0 && this.#isWanted()) this.#current += text.slice(start, Math.min(end, start + room))
  }

  #endLine(): void {
    if (this.#isWanted()) this.#lines.push(this.#current.endsWith("\r") ? this.#current.slice(0, -1) : this.#current)
    this.#number += 1
    this.#current = ""
    this.#currentIsEmpty = true
  }
}
