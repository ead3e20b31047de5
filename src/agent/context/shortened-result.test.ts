import { describe, expect, test } from "vitest"

import { fc } from "../../../test/support/property.ts"
import { parseJson } from "../../base/json.ts"
import { persistedOutput } from "../../toolkit/result-budget.ts"
import { isOversized, isReduced, reduceResult } from "./shortened-result.ts"

const spill = async (): Promise<string | undefined> => await Promise.resolve("/tmp/r/c.txt")
const reduce = async (text: string, limitTokens: number): Promise<string> =>
  await reduceResult(text, { limitTokens, callId: "c", spill })

test.each([
  ["x".repeat(32_768), false],
  ["x".repeat(32_769), true],
  ["😀".repeat(32_768), false],
  ["😀".repeat(32_769), true],
])("the limit counts characters, not code units", (text, oversized) => {
  expect(isOversized(text, 8192)).toBe(oversized)
})

test("a block that replaces a result in a file stays unchanged", () => {
  const block = persistedOutput("line\n".repeat(50_000), { path: "/tmp/r/x.txt", previewChars: 1500 })
  expect(isOversized(block, 100)).toBe(false)
})

test("text keeps whole lines of its beginning and its end", async () => {
  const text = Array.from({ length: 4000 }, (_, index) => `line ${index}`).join("\n")
  const cut = await reduce(text, 1000)
  const [head = "", mark, ...tail] = cut.split(/\n(?=\[Shortened)|(?<=limit\.\])\n/u)
  expect(text.startsWith(`${head}\n`)).toBe(true)
  expect(text.endsWith(tail.join("\n"))).toBe(true)
  expect(mark).toBe(
    `[Shortened: about 3600 of ${text.length} characters kept. All of it is in /tmp/r/c.txt; read parts with read_file, offset and limit.]`,
  )
  expect([head.length > 2700, tail.join("\n").length, cut.length <= 4000]).toEqual([true, 800, true])
})

test("a text without line breaks is cut at the limit", async () => {
  const cut = await reduce("x".repeat(9000), 1000)
  expect([cut.indexOf("\n"), cut.length - cut.lastIndexOf("\n") - 1]).toEqual([2800, 800])
})

test.each([
  ["returns undefined", async () => await Promise.resolve(undefined)],
  ["fails", async () => await Promise.reject(new Error("disk full"))],
])("when the full text cannot be saved, the marker says so (%s)", async (_name, failing) => {
  const cut = await reduceResult("x".repeat(9000), { limitTokens: 1000, callId: "c", spill: failing })
  expect(cut).toContain("of 9000 characters kept. The full text could not be saved.]")
})

describe("shortening again", () => {
  test.each([
    ["text", "word ".repeat(20_000)],
    ["an object", JSON.stringify({ output: "word ".repeat(20_000), exit_code: 0 })],
    ["an array", JSON.stringify(Array.from({ length: 5000 }, (_, index) => `entry ${index}`))],
  ])("%s still names the file with the full text, which is not stored twice", async (_name, text) => {
    const once = await reduce(text, 8192)
    expect([isReduced(text), isReduced(once), isOversized(once, 8192)]).toEqual([false, true, false])
    const twice = await reduceResult(once, {
      limitTokens: 500,
      callId: "c",
      spill: async () => await Promise.reject(new Error("must not be stored")),
    })
    expect(twice).toContain(`of ${text.length} characters kept. All of it is in /tmp/r/c.txt;`)
    expect([twice.length <= 2000, twice.split("[Shortened:").length]).toEqual([true, 2])
  })
})

test("any JSON object or array stays JSON and fits", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), fc.array(fc.jsonValue({ maxDepth: 3 }))),
      fc.integer({ min: 100, max: 2000 }),
      async (value, limitTokens) => {
        const text = JSON.stringify({ value, filler: 'quotes " and \n lines '.repeat(400) })
        const cut = await reduce(text, limitTokens)
        expect(cut.length).toBeLessThanOrEqual(limitTokens * 4)
        expect(parseJson(cut)).toBeDefined()
      },
    ),
    { numRuns: 200 },
  )
})
