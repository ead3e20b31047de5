import { crc32 } from "node:zlib"

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const STRING_HEADER = 7

/**
 * Encodes one message of `application/vnd.amazon.eventstream`: total length, length of the headers, CRC-32 of those two, the
 * headers, the payload, CRC-32 of everything before it; all numbers big-endian.
 */
export function encodeEventStreamMessage(headers: Readonly<Record<string, string>>, payload: string): Buffer {
  const headerBytes = Buffer.concat(Object.entries(headers).map(([name, value]) => encodeStringHeader(name, value)))
  const payloadBytes = Buffer.from(payload)
  const total = PRELUDE_BYTES + headerBytes.length + payloadBytes.length + CHECKSUM_BYTES
  const message = Buffer.allocUnsafe(total)
  message.writeUInt32BE(total, 0)
  message.writeUInt32BE(headerBytes.length, 4)
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8)
  headerBytes.copy(message, PRELUDE_BYTES)
  payloadBytes.copy(message, PRELUDE_BYTES + headerBytes.length)
  message.writeUInt32BE(crc32(message.subarray(0, total - CHECKSUM_BYTES)), total - CHECKSUM_BYTES)
  return message
}

/** Length of the name in one byte, the name, the value's type, its length in two bytes, the value. */
function encodeStringHeader(name: string, value: string): Buffer {
  const nameBytes = Buffer.from(name)
  const valueBytes = Buffer.from(value)
  const header = Buffer.allocUnsafe(nameBytes.length + valueBytes.length + 4)
  header.writeUInt8(nameBytes.length, 0)
  nameBytes.copy(header, 1)
  header.writeUInt8(STRING_HEADER, nameBytes.length + 1)
  header.writeUInt16BE(valueBytes.length, nameBytes.length + 2)
  valueBytes.copy(header, nameBytes.length + 4)
  return header
}
