import { expect, test } from "vitest"
import { fc } from "../../../test/support/property.ts"
import { chunksOf } from "./chunks.ts"

test("a short text is one chunk, an empty one none", () => {
  expect(chunksOf("one fact")).toEqual(["one fact"])
  expect(chunksOf("  \n")).toEqual([])
})

test("a long text is cut at white space and overlaps", () => {
  const text = "word ".repeat(500)
  const chunks = chunksOf(text)
  expect(chunks.map((chunk) => chunk.length)).toEqual([1200, 1200, 400])
  expect(chunks.every((chunk) => chunk.startsWith("word ") && chunk.endsWith("word "))).toBe(true)
})

test("no text is lost and no character is split, whatever it consists of", () => {
  const piece = fc.oneof(fc.constantFrom("a", " ", "\n", "😀", "部"), fc.lorem({ maxCount: 8 }))
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 2500 }), (pieces) => {
      const text = pieces.join("")
      let covered = 0
      for (const chunk of chunksOf(text)) {
        const at = text.indexOf(chunk, Math.max(0, covered - 152))
        expect(at).toBeGreaterThanOrEqual(0)
        expect(at).toBeLessThanOrEqual(covered)
        expect(chunk.isWellFormed()).toBe(true)
        expect(chunk.length).toBeLessThanOrEqual(1200)
        covered = at + chunk.length
      }
      expect(text.slice(covered).trim()).toBe("")
    }),
    { numRuns: 300 },
  )
})
