import { expect, test } from "vitest"

import { parseScript } from "./script-file.ts"

test("turns are plain objects, and an object without a kind is a reply", () => {
  const script = [
    { text: "hi", usage: { input: 1 }, cutsAfter: 5 },
    { calls: [{ name: "f", input: { a: 1 } }], usage: null },
    { kind: "deltas", count: 2, text: "w", chunkBytes: 3 },
    { kind: "status", status: 429, message: "slow down", headers: { "retry-after": "1" } },
    { kind: "raw", base64: "AP8=" },
    { kind: "empty" },
    { kind: "repeat", turn: { text: "again", stallsAfter: { deltas: 1 } } },
  ]
  expect(parseScript(JSON.stringify(script))).toEqual([
    { kind: "reply", text: "hi", usage: { input: 1 }, cutsAfter: 5 },
    { kind: "reply", calls: [{ name: "f", input: { a: 1 } }], usage: null },
    { kind: "reply", text: ["w", "w"], chunkBytes: 3 },
    { kind: "status", status: 429, message: "slow down", headers: { "retry-after": "1" } },
    { kind: "raw", bytes: Buffer.from([0, 255]), headers: {} },
    { kind: "empty" },
    { kind: "repeat", turn: { kind: "reply", text: "again", stallsAfter: { deltas: 1 } } },
  ])
})

test("a misspelt field is an error that names the field", () => {
  expect(() => parseScript('[{"txt":"hi"}]')).toThrow('Unrecognized key: "txt"')
})
