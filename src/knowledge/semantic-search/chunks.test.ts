import { expect, test } from "vitest"
import { fc } from "../../../test/support/property.ts"
import { splitIntoChunks } from "./chunks.ts"

test("a short text is one chunk, an empty one none", () => {
  expect(splitIntoChunks("one fact")).toEqual(["one fact"])
  expect(splitIntoChunks("  \n")).toEqual([])
})

test("chunks of a long text end at whitespace and overlap", () => {
  const text = "word ".repeat(500)
  const chunks = splitIntoChunks(text)
  expect(chunks.map((chunk) => chunk.length)).toEqual([1200, 1200, 400])
  expect(chunks.every((chunk) => chunk.startsWith("word ") && chunk.endsWith("word "))).toBe(true)
})

test("chunks cover the whole text and split no character", () => {
  const piece = fc.oneof(fc.constantFrom("a", " ", "\n", "😀", "部"), fc.lorem({ maxCount: 8 }))
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 2500 }), (pieces) => {
      const text = pieces.join("")
      let covered = 0
      for (const chunk of splitIntoChunks(text)) {
        const start = text.indexOf(chunk, Math.max(0, covered - 152))
        expect(start).toBeGreaterThanOrEqual(0)
        expect(start).toBeLessThanOrEqual(covered)
        expect(chunk.isWellFormed()).toBe(true)
        expect(chunk.length).toBeLessThanOrEqual(1200)
        covered = start + chunk.length
      }
      expect(text.slice(covered).trim()).toBe("")
    }),
    { numRuns: 300 },
  )
})
