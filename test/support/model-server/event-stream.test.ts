import { expect, test } from "vitest"

import { encodeEventStreamMessage } from "./event-stream.ts"

const STRING_HEADER = "0c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
const PAYLOAD = "7b27666f6f273a27626172277d"

// The published test vectors of the format.
test.each([
  { name: "no content", headers: {}, payload: "", hex: "000000100000000005c248eb7d98c8ff" },
  { name: "only a payload", headers: {}, payload: "{'foo':'bar'}", hex: `0000001d00000000fd528c5a${PAYLOAD}c3653936` },
  {
    name: "a header and a payload",
    headers: { "content-type": "application/json" },
    payload: "{'foo':'bar'}",
    hex: `0000003d0000002007fd8396${STRING_HEADER}${PAYLOAD}8d9c08b1`,
  },
])("a message with $name matches the published test vector", ({ headers, payload, hex }) => {
  expect(encodeEventStreamMessage(headers, payload).toString("hex")).toBe(hex)
})

test("lengths count bytes, not characters", () => {
  const message = encodeEventStreamMessage({ é: "ü" }, "漢")
  expect({ total: message.readUInt32BE(0), headers: message.readUInt32BE(4), size: message.length }).toEqual({
    total: 27,
    headers: 8,
    size: 27,
  })
})
