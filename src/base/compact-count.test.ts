import { expect, test } from "vitest"

import { compactCount, compactDuration } from "./compact-count.ts"

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1K"],
  [1234, "1.23K"],
  [12_345, "12.3K"],
  [123_456, "123K"],
  [999_999, "1M"],
  [1_234_567, "1.23M"],
  [2_500_000_000, "2.5B"],
  [9_999_999_999_999, "10000B"],
  [-1500, "-1.5K"],
])("%d is %s", (count, shown) => {
  expect(compactCount(count)).toBe(shown)
})

test.each([
  [0, "0s"],
  [59.4, "59s"],
  [59.6, "1m"],
  [89, "1m"],
  [90, "2m"],
  [120, "2m"],
  [3599, "1h"],
  [3600, "1h"],
  [3660, "1h 1m"],
  [86_399, "1.0d"],
  [90_000, "1.0d"],
])("%d seconds are %s", (seconds, shown) => {
  expect(compactDuration(seconds)).toBe(shown)
})
