import { expect, test } from "vitest"
import { canonicalJson, isRecord, parseJson, stringField } from "./json.ts"

test.each([
  ['{"a":1}', { a: 1 }],
  ["null", null],
  ["{", undefined],
  ["", undefined],
])("%s is parsed to %j", (text, expected) => {
  expect(parseJson(text)).toEqual(expected)
})

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ["x", false],
])("%j is a record: %s", (value, expected) => {
  expect(isRecord(value)).toBe(expected)
})

test("equal values yield equal bytes, independent of the order of their keys", () => {
  const text = '{"a":[{"c":2,"d":3}],"b":"é","z":null}'
  expect(canonicalJson({ z: null, b: "é", a: [{ d: 3, c: 2 }] })).toBe(text)
  expect(canonicalJson(parseJson(text))).toBe(text)
})

test("stringField returns only strings", () => {
  expect([stringField({ a: "x" }, "a"), stringField({ a: 1 }, "a"), stringField(null, "a")]).toEqual([
    "x",
    undefined,
    undefined,
  ])
})
