import { describe, expect, test } from "vitest"

import { SseReader } from "./sse.ts"
import type { Frame } from "./sse.ts"
import { fc } from "../../../test/support/property.ts"

describe("SseReader", () => {
  test.each<[string, string, Frame[]]>([
    ["one event", "data: a\n\n", [{ event: "", data: "a" }]],
    ["a named event", "event: ping\ndata: a\n\n", [{ event: "ping", data: "a" }]],
    [
      "the event name applies to one event only",
      "event: x\ndata: 1\n\ndata: 2\n\n",
      [
        { event: "x", data: "1" },
        { event: "", data: "2" },
      ],
    ],
    ["several data lines", "data: a\ndata: b\n\n", [{ event: "", data: "a\nb" }]],
    ["no space after the colon", "data:a\n\n", [{ event: "", data: "a" }]],
    ["only one space is taken off", "data:  a \n\n", [{ event: "", data: " a " }]],
    [
      "CRLF",
      "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n",
      [
        { event: "x", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    [
      "comments and unknown fields",
      ": keep-alive\n\nid: 7\nretry: 10\ndata: a\n\n: bye\n\n",
      [{ event: "", data: "a" }],
    ],
    [
      "no blank line at the end",
      "data: a\n\ndata: b",
      [
        { event: "", data: "a" },
        { event: "", data: "b" },
      ],
    ],
    ["a lone CR at the end", "data: a\r", [{ event: "", data: "a" }]],
    ["empty data is an event, a name alone is none", "data:\n\nevent: x\n\n", [{ event: "", data: "" }]],
    ["a byte order mark", "\uFEFFdata: a\n\n", [{ event: "", data: "a" }]],
    ["nothing", "", []],
  ])("%s", (_name, stream, frames) => {
    expect(readInPieces(Buffer.from(stream), [])).toEqual(frames)
  })

  test("the frames do not depend on the split", () => {
    const data = fc.string({ unit: "grapheme", maxLength: 12 }).filter((line) => !/[\r\n]/.test(line))
    const frame = fc.record({ event: fc.constantFrom("", "delta", "größe"), data })
    const script = fc.record({
      frames: fc.array(frame, { maxLength: 6 }),
      newline: fc.constantFrom("\n", "\r\n"),
      comment: fc.constantFrom("", ": 💤 keep-alive"),
      isClosed: fc.boolean(),
      cuts: fc.array(fc.nat(400), { maxLength: 12 }),
    })
    fc.assert(
      fc.property(script, ({ frames, newline, comment, isClosed, cuts }) => {
        const lines = frames.flatMap(({ event, data }) => [
          ...(comment === "" ? [] : [comment]),
          ...(event === "" ? [] : [`event: ${event}`]),
          `data: ${data}`,
          "",
        ])
        const whole = lines.map((line) => line + newline).join("")
        const bytes = Buffer.from(isClosed ? whole : whole.slice(0, whole.length - newline.length))
        expect(readInPieces(bytes, cuts)).toEqual(frames)
        expect(readInPieces(bytes, [...bytes.keys()])).toEqual(frames)
      }),
    )
  })
})

function readInPieces(bytes: Uint8Array, cuts: readonly number[]): Frame[] {
  const reader = new SseReader()
  const points = [...cuts].filter((cut) => cut < bytes.length).sort((a, b) => a - b)
  const frames: Frame[] = []
  let start = 0
  for (const end of [...points, bytes.length]) {
    frames.push(...reader.push(bytes.subarray(start, end)))
    start = end
  }
  return [...frames, ...reader.end()]
}
