import { expect, test } from "vitest"
import { fc } from "../../test/support/property.ts"
import { BoundedOutput } from "./bounded-output.ts"

const bounded = (max: number, chunks: readonly string[]): BoundedOutput => {
  const output = new BoundedOutput(max)
  for (const chunk of chunks) output.push(chunk)
  return output
}

test("text up to the limit is kept unchanged", () => {
  const output = bounded(10, ["01234", "56789"])
  expect([output.toString(), output.omittedChars]).toEqual(["0123456789", 0])
})

test("text over the limit keeps 40 % head and 60 % tail, with a notice in between", () => {
  const text = "a".repeat(20_000) + "b".repeat(10_000) + "c".repeat(30_000)
  const output = bounded(50_000, [text])
  expect(output.toString()).toBe(
    `${"a".repeat(20_000)}\n\n[... 10000 of 60000 characters left out ...]\n\n${"c".repeat(30_000)}`,
  )
})

test("chunk boundaries do not change the result", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 40 })), fc.integer({ min: 1, max: 60 }), (chunks, max) => {
      expect(bounded(max, chunks).toString()).toBe(bounded(max, [chunks.join("")]).toString())
    }),
  )
})

test("a cut through a surrogate pair leaves no half character", () => {
  expect(
    bounded(5, ["a😀".repeat(20)])
      .toString()
      .isWellFormed(),
  ).toBe(true)
})

test("a limit of 0 still bounds the text", () => {
  expect(bounded(0, ["x".repeat(10_000)]).toString().length).toBeLessThan(100)
})

test("skipped characters count as omitted", () => {
  const output = bounded(4, ["abcdef"])
  output.skip(100)
  expect([output.omittedChars, output.toString()]).toEqual([
    102,
    "a\n\n[... 102 of 106 characters left out ...]\n\ndef",
  ])
})
