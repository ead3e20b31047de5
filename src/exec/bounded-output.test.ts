import { expect, test } from "vitest"
import { BoundedOutput } from "./bounded-output.ts"
import { fc } from "../../test/support/property.ts"

const bounded = (max: number, chunks: readonly string[]): BoundedOutput => {
  const output = new BoundedOutput(max)
  for (const chunk of chunks) output.push(chunk)
  return output
}

test("text up to the limit is kept as it is", () => {
  const output = bounded(10, ["01234", "56789"])
  expect([output.toString(), output.omittedChars]).toEqual(["0123456789", 0])
})

test("60 000 characters keep the first 20 000 and the last 30 000 and say so", () => {
  const text = "a".repeat(20_000) + "b".repeat(10_000) + "c".repeat(30_000)
  const output = bounded(50_000, [text])
  expect(output.toString()).toBe(
    `${"a".repeat(20_000)}\n\n[... 10000 of 60000 characters left out ...]\n\n${"c".repeat(30_000)}`,
  )
})

test("how the text was cut into chunks makes no difference", () => {
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

test("a limit of nothing still bounds", () => {
  expect(bounded(0, ["x".repeat(10_000)]).toString().length).toBeLessThan(100)
})

test("what somebody else left out is counted", () => {
  const output = bounded(4, ["abcdef"])
  output.skip(100)
  expect([output.omittedChars, output.toString()]).toEqual([
    102,
    "a\n\n[... 102 of 106 characters left out ...]\n\ndef",
  ])
})
