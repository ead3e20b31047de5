import { crc32 } from "node:zlib"

import { describe, expect, test } from "vitest"

import { encodeEventStreamMessage } from "../../../test/support/model-server/event-stream.ts"
import type { Frame } from "../http/sse.ts"
import { EventStreamReader } from "./event-stream.ts"
import { fc } from "../../../test/support/property.ts"

/** Test messages that AWS publishes for readers of this format. */
const EMPTY_MESSAGE = Buffer.from("000000100000000005c248eb7d98c8ff", "hex")
const PAYLOAD_ONLY = Buffer.from("0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936", "hex")

describe("EventStreamReader", () => {
  test("published messages", () => {
    expect(readInPieces(Buffer.concat([EMPTY_MESSAGE, PAYLOAD_ONLY]), [])).toEqual([
      { event: "", data: "" },
      { event: "", data: "{'foo':'bar'}" },
    ])
  })

  test("headers of other types are skipped", () => {
    const headers = Buffer.concat([
      header("yes", 0, Buffer.alloc(0)),
      header("no", 1, Buffer.alloc(0)),
      header("byte", 2, Buffer.alloc(1)),
      header("short", 3, Buffer.alloc(2)),
      header("integer", 4, Buffer.alloc(4)),
      header("long", 5, Buffer.alloc(8)),
      header("bytes", 6, Buffer.from([0, 2, 7, 7])),
      header("time", 8, Buffer.alloc(8)),
      header("uuid", 9, Buffer.alloc(16)),
      header(":event-type", 7, Buffer.from("\0\u0007metrics")),
    ])
    expect(readInPieces(withHeaders(headers), [])).toEqual([{ event: "metrics", data: "{}" }])
  })

  test.each([
    ["throttlingException", 429],
    ["ThrottlingException", 429],
    ["validationException", 400],
    ["accessDeniedException", 403],
    ["serviceUnavailableException", 503],
    ["internalServerException", 500],
    ["modelStreamErrorException", 500],
    ["modelTimeoutException", 500],
    ["somethingNewException", 500],
  ])("the exception %s has the status %i", (type, code) => {
    const headers = { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" }
    const bytes = encodeEventStreamMessage(headers, '{"message":"too much"}')
    expect(readInPieces(bytes, [])).toEqual([errorFrame({ code, type, message: "too much" })])
  })

  test("an error without a modelled shape", () => {
    const headers = { ":message-type": "error", ":error-code": "InternalError", ":error-message": "it broke" }
    expect(readInPieces(encodeEventStreamMessage(headers, ""), [])).toEqual([
      errorFrame({ code: 500, type: "InternalError", message: "it broke" }),
    ])
  })

  test.each<[string, (bytes: Buffer) => void, string]>([
    ["the head", (bytes) => bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9), "the checksum of a frame's head is wrong"],
    ["the payload", (bytes) => bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40), "the checksum of a frame is wrong"],
    [
      "the last checksum",
      (bytes) => bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1),
      "the checksum of a frame is wrong",
    ],
  ])("damage in %s ends the stream", (_name, damage, message) => {
    const good = encodeEventStreamMessage({ ":event-type": "a", ":message-type": "event" }, '{"text":"hello"}')
    const bad = Buffer.from(good)
    damage(bad)
    const expected = [
      { event: "a", data: '{"text":"hello"}' },
      { event: "damaged", data: message },
    ]
    expect(readInPieces(Buffer.concat([good, bad, good]), [])).toEqual(expected)
    const reader = new EventStreamReader()
    expect([...reader.push(good), ...reader.push(bad), ...reader.push(good), ...reader.end()]).toEqual(expected)
  })

  test("headers that exceed the message are reported as damage", () => {
    const message = "the headers of a frame cannot be read"
    for (const headers of [
      header("a", 7, Buffer.from([0, 9, 65])),
      header("a", 11, Buffer.alloc(0)),
      Buffer.from([9]),
    ]) {
      expect(readInPieces(withHeaders(headers), [])).toEqual([{ event: "damaged", data: message }])
    }
  })

  test("an incomplete message at the end is reported as damage", () => {
    const good = encodeEventStreamMessage({ ":event-type": "a" }, "{}")
    expect(readInPieces(Buffer.concat([good, good.subarray(0, 20)]), [])).toEqual([
      { event: "a", data: "{}" },
      { event: "damaged", data: "the stream ended inside a frame" },
    ])
  })

  test("the frames do not depend on the split", () => {
    const frame = fc.record({
      event: fc.constantFrom("messageStart", "contentBlockDelta", "größe"),
      data: fc.string({ unit: "grapheme", maxLength: 30 }),
    })
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), fc.array(fc.nat(600), { maxLength: 12 }), (frames, cuts) => {
        const bytes = Buffer.concat(
          frames.map(({ event, data }) =>
            encodeEventStreamMessage({ ":event-type": event, ":message-type": "event" }, data),
          ),
        )
        expect(readInPieces(bytes, cuts)).toEqual(frames)
        expect(readInPieces(bytes, [...bytes.keys()])).toEqual(frames)
      }),
    )
  })
})

function errorFrame(error: { code: number; type: string; message: string }): Frame {
  return { event: "error", data: JSON.stringify({ error }) }
}

function header(name: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([type]), value])
}

/** A message with these header bytes and correct checksums. */
function withHeaders(headers: Buffer): Buffer {
  const payload = Buffer.from("{}")
  const message = Buffer.alloc(12 + headers.length + payload.length + 4)
  message.writeUInt32BE(message.length, 0)
  message.writeUInt32BE(headers.length, 4)
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8)
  headers.copy(message, 12)
  payload.copy(message, 12 + headers.length)
  message.writeUInt32BE(crc32(message.subarray(0, message.length - 4)), message.length - 4)
  return message
}

function readInPieces(bytes: Uint8Array, cuts: readonly number[]): Frame[] {
  const reader = new EventStreamReader()
  const points = [...cuts].filter((cut) => cut < bytes.length).sort((a, b) => a - b)
  const frames: Frame[] = []
  let start = 0
  for (const end of [...points, bytes.length]) {
    frames.push(...reader.push(bytes.subarray(start, end)))
    start = end
  }
  return [...frames, ...reader.end()]
}
