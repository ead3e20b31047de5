import { readFileSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { referenceSimilarity } from "../../../../../test/fixtures/tools/reference-similarity.ts"
import { isSimilar, similarity, similarityBound } from "./similarity.ts"

/** Recorded from Python's difflib with its junk heuristic switched off. */
const RATIOS = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../../../test/fixtures/tools/similarity-ratios.json"), "utf8"),
) as readonly [string, string, number][]

const alike = (a: string, b: string): number => similarity(a, b, { stepsLeft: Infinity })

test("the test vector of the specification", () => {
  expect(alike("abcd", "bcde")).toBe(0.75)
})

test.each(RATIOS)("%j and %j are %d alike", (a, b, ratio) => {
  expect(alike(a, b)).toBeCloseTo(ratio, 12)
})

const text = fc.string({ unit: fc.constantFrom("a", "b", "c", " ", "é", "😀"), maxLength: 24 })

describe("on random texts", () => {
  test("it equals a search through all blocks", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(alike(a, b)).toBe(referenceSimilarity(a, b))
      }),
      { seed: 5, numRuns: 2000 },
    )
  })

  test("the bound is never too low, and a threshold is decided by the exact value", () => {
    fc.assert(
      fc.property(text, text, fc.constantFrom(0.3, 0.5, 0.7, 0.8, 1), (a, b, threshold) => {
        expect(similarityBound(a, b)).toBeGreaterThanOrEqual(alike(a, b))
        expect(isSimilar(a, b, { threshold, effort: { stepsLeft: Infinity } })).toBe(
          referenceSimilarity(a, b) >= threshold,
        )
      }),
      { seed: 6, numRuns: 1000 },
    )
  })
})

test("texts count as different when the effort limit is reached", () => {
  const [a, b] = ["ab ".repeat(2000), "ba ".repeat(2000)]
  const effort = { stepsLeft: 1_000_000 }
  expect([similarity(a, b, effort), isSimilar(a, b, { threshold: 0.1, effort })]).toEqual([0, false])
  expect(effort.stepsLeft).toBeLessThan(0)
})
