import { expect, test } from "vitest"

import { priceWarning } from "./price-warning.ts"

const OTHER = { cacheRead: null, cacheWrite: null, source: "table", version: "v" } as const

test.each([
  [20_000_000_000n, 100_000_000_000n, undefined],
  [20_000_000_001n, 1_500_000_000n, "m is expensive: $20 in, $1.5 out per million tokens (table, v)."],
  [1_000_000_000n, 168_000_000_000n, "m is expensive: $1 in, $168 out per million tokens (table, v)."],
  [30_000_000_000n, null, "m is expensive: $30 in, unknown out per million tokens (table, v)."],
  [null, null, undefined],
])("%s in, %s out", (input, output, expected) => {
  expect(priceWarning("m", { ...OTHER, input, output })).toBe(expected)
})

test("an unknown price causes no warning", () => {
  expect(priceWarning("m", undefined)).toBeUndefined()
})
