import { crc32 } from "node:zlib"

import { parseJson, stringField } from "../../base/json.ts"
import type { Frame } from "../http/sse.ts"

/**
 * Incremental reader of `application/vnd.amazon.eventstream`. Bytes may be split anywhere. A message is its total length, the
 * length of its headers, a CRC-32 of those two, the headers, the payload and a CRC-32 of everything before; all numbers are
 * big-endian. An exception becomes an `error` frame whose body has the HTTP status that AWS documents for it; damage becomes a frame
 * whose data is not JSON.
 */
export class EventStreamReader {
  #pending: Buffer = Buffer.alloc(0)
  /** After a damaged message, the start of the next one is unknown. */
  #broken = false

  push(bytes: Uint8Array): Frame[] {
    if (this.#broken) return []
    const frames: Frame[] = []
    const buffer = this.#pending.length === 0 ? asBuffer(bytes) : Buffer.concat([this.#pending, bytes])
    let start = 0
    while (buffer.length - start >= PRELUDE_BYTES) {
      const next = takeMessage(buffer.subarray(start))
      if (next.kind === "incomplete") break
      frames.push(next.frame)
      if (next.kind === "damaged") {
        this.#broken = true
        break
      }
      start += next.length
    }
    this.#pending = this.#broken ? Buffer.alloc(0) : Buffer.from(buffer.subarray(start))
    return frames
  }

  end(): Frame[] {
    const isIncomplete = this.#pending.length > 0
    this.#pending = Buffer.alloc(0)
    return isIncomplete ? [damagedFrame("the stream ended inside a frame")] : []
  }
}

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** AWS allows 24 MB of payload and 128 KB of headers. */
const MAX_MESSAGE_BYTES = 25 * 1024 * 1024

type Taken =
  | { readonly kind: "incomplete" }
  | { readonly kind: "damaged"; readonly frame: Frame }
  | { readonly kind: "message"; readonly frame: Frame; readonly length: number }

function takeMessage(bytes: Buffer): Taken {
  const length = bytes.readUInt32BE(0)
  const headerLength = bytes.readUInt32BE(4)
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) return damaged("the checksum of a frame's head is wrong")
  const headersEnd = PRELUDE_BYTES + headerLength
  if (length > MAX_MESSAGE_BYTES || length < headersEnd + CHECKSUM_BYTES) {
    return damaged("the length of a frame is impossible")
  }
  if (bytes.length < length) return { kind: "incomplete" }
  const payloadEnd = length - CHECKSUM_BYTES
  if (crc32(bytes.subarray(0, payloadEnd)) !== bytes.readUInt32BE(payloadEnd)) {
    return damaged("the checksum of a frame is wrong")
  }
  const headers = readHeaders(bytes.subarray(PRELUDE_BYTES, headersEnd))
  if (headers === undefined) return damaged("the headers of a frame cannot be read")
  return { kind: "message", frame: toFrame(headers, bytes.toString("utf8", headersEnd, payloadEnd)), length }
}

function toFrame(headers: ReadonlyMap<string, string>, payload: string): Frame {
  switch (headers.get(":message-type")) {
    case "exception": {
      const type = headers.get(":exception-type") ?? ""
      const parsed = parseJson(payload)
      const message = stringField(parsed, "message") ?? stringField(parsed, "Message") ?? payload
      return errorFrame({ code: EXCEPTION_STATUS[type.toLowerCase()] ?? 500, type, message })
    }
    case "error":
      return errorFrame({
        code: 500,
        type: headers.get(":error-code") ?? "",
        message: headers.get(":error-message") ?? payload,
      })
    default:
      return { event: headers.get(":event-type") ?? "", data: payload }
  }
}

/** HTTP status per exception. Model failures (424, 408) count as server errors, because AWS advises to retry them. */
const EXCEPTION_STATUS: Readonly<Record<string, number>> = {
  accessdeniedexception: 403,
  internalserverexception: 500,
  modelerrorexception: 500,
  modelnotreadyexception: 503,
  modelstreamerrorexception: 500,
  modeltimeoutexception: 500,
  resourcenotfoundexception: 404,
  servicequotaexceededexception: 429,
  serviceunavailableexception: 503,
  throttlingexception: 429,
  validationexception: 400,
}

function damaged(what: string): Taken {
  return { kind: "damaged", frame: damagedFrame(what) }
}

function damagedFrame(what: string): Frame {
  return { event: "damaged", data: what }
}

function errorFrame(error: { readonly code: number; readonly type: string; readonly message: string }): Frame {
  return { event: "error", data: JSON.stringify({ error }) }
}

const STRING_HEADER = 7
const BYTES_HEADER = 6
/** Value sizes in bytes of the other header types: true, false, byte, short, integer, long, timestamp, UUID. */
const FIXED_SIZES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }

/** Reads the string headers and skips the others. Undefined when a length exceeds the message. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>()
  let offset = 0
  while (offset < bytes.length) {
    const nameEnd = offset + 1 + bytes.readUInt8(offset)
    if (nameEnd >= bytes.length) return undefined
    const type = bytes.readUInt8(nameEnd)
    const name = bytes.toString("utf8", offset + 1, nameEnd)
    if (type === STRING_HEADER || type === BYTES_HEADER) {
      const start = nameEnd + 3
      if (start > bytes.length) return undefined
      offset = start + bytes.readUInt16BE(nameEnd + 1)
      if (offset > bytes.length) return undefined
      if (type === STRING_HEADER) headers.set(name, bytes.toString("utf8", start, offset))
    } else {
      const size = FIXED_SIZES[type]
      if (size === undefined) return undefined
      offset = nameEnd + 1 + size
    }
  }
  return offset === bytes.length ? headers : undefined
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
