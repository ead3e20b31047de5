import { expect, test } from "vitest"
import { codePointLength, ellipsize, scrubSurrogates, takeCodePoints } from "./text.ts"
import { fc } from "../../test/support/property.ts"

test.each([
  ["", 0],
  ["abc", 3],
  ["a😀b", 3],
  ["e\u0301", 2],
])("%j has %i code points", (text, expected) => {
  expect(codePointLength(text)).toBe(expected)
})

test.each([
  ["a😀b", 2, "a😀"],
  ["a😀b", 9, "a😀b"],
  ["abc", 0, ""],
  ["abc", -1, ""],
])("the first code points of %j up to %i are %j", (text, max, expected) => {
  expect(takeCodePoints(text, max)).toBe(expected)
})

test("no cut exceeds its limit or splits a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 0, max: 20 }), (text, max) => {
      const cut = ellipsize(text, max)
      expect(codePointLength(cut)).toBeLessThanOrEqual(max)
      expect(cut.isWellFormed() || !text.isWellFormed()).toBe(true)
      if (codePointLength(text) <= max) expect(cut).toBe(text)
    }),
  )
})

test("half of a surrogate pair becomes the replacement character", () => {
  expect(scrubSurrogates("a\uD83Db")).toBe("a\uFFFDb")
})
