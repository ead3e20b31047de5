import { constants } from "node:fs"
import { open, type FileHandle } from "node:fs/promises"

import { isRecord, parseJson } from "../../base/json.ts"

export type JsonLine =
  | { readonly kind: "object"; readonly number: number; readonly value: Record<string, unknown> }
  /** A line that is not a JSON object, or too long to be read. */
  | { readonly kind: "damaged"; readonly number: number }

export interface ReadLinesOptions {
  readonly signal: AbortSignal
  /** Receives the number of bytes of each part that was read. */
  readonly onBytes?: (count: number) => void
}

const CHUNK_BYTES = 256 * 1024
/** Longer lines hold attached files, never a conversation. */
const MAX_LINE_BYTES = 32 * 1024 * 1024

/**
 * Reads a file of JSON lines with bounded memory. Another program may append to it meanwhile: what is added after the start is not read,
 * and a last line that is not complete yet is left out.
 */
export async function* readJsonLines(path: string, options: ReadLinesOptions): AsyncGenerator<JsonLine, void> {
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)
  const file = await open(path, flags)
  try {
    yield* linesOf(file, options)
  } finally {
    await file.close()
  }
}

async function* linesOf(file: FileHandle, { signal, onBytes }: ReadLinesOptions): AsyncGenerator<JsonLine, void> {
  const stats = await file.stat()
  if (!stats.isFile()) return
  const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(stats.size, 1)))
  let parts: Buffer[] = []
  let length = 0
  let number = 0
  let position = 0
  const keep = (part: Buffer): void => {
    length += part.length
    // Of a line that is too long only the length counts.
    if (length > MAX_LINE_BYTES) parts = []
    else if (part.length > 0) parts.push(Buffer.from(part))
  }
  while (position < stats.size) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, stats.size - position), position)
    if (bytesRead === 0) break
    position += bytesRead
    onBytes?.(bytesRead)
    let start = 0
    for (let end = chunk.indexOf(10, start); end !== -1 && end < bytesRead; end = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, end))
      number += 1
      const line = decode(parts, { length, number })
      if (line !== undefined) yield line
      parts = []
      length = 0
      start = end + 1
    }
    keep(chunk.subarray(start, bytesRead))
  }
  if (length === 0) return
  const last = decode(parts, { length, number: number + 1 })
  if (last?.kind === "object") yield last
}

function decode(
  parts: readonly Buffer[],
  { length, number }: { readonly length: number; readonly number: number },
): JsonLine | undefined {
  if (length > MAX_LINE_BYTES) return { kind: "damaged", number }
  const [only, ...others] = parts
  const text = (others.length === 0 ? only : Buffer.concat([...parts]))?.toString("utf8").trim() ?? ""
  if (text === "") return undefined
  const value = parseJson(text)
  return isRecord(value) ? { kind: "object", number, value } : { kind: "damaged", number }
}
