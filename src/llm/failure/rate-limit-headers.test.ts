import { describe, expect, test } from "vitest"

import { isNearLimit, exhaustedForSeconds, parseRateLimits } from "./rate-limit-headers.ts"

const NOW = 1_700_000_000_000

describe("parseRateLimits", () => {
  test("reads all twelve headers, in any letter case", () => {
    const headers = Object.fromEntries(
      ["requests", "requests-1h", "tokens", "tokens-1h"].flatMap((name, index) => [
        [`X-RateLimit-Limit-${name}`, `${100 * (index + 1)}`],
        [`x-ratelimit-remaining-${name}`, `${index}`],
        [`X-RATELIMIT-RESET-${name}`, `${10 * index}.5`],
      ]),
    )
    expect(parseRateLimits(headers, NOW)).toEqual({
      requests: { limit: 100, remaining: 0, resetSeconds: 0.5, capturedAt: NOW },
      "requests-1h": { limit: 200, remaining: 1, resetSeconds: 10.5, capturedAt: NOW },
      tokens: { limit: 300, remaining: 2, resetSeconds: 20.5, capturedAt: NOW },
      "tokens-1h": { limit: 400, remaining: 3, resetSeconds: 30.5, capturedAt: NOW },
    })
  })

  test.each([
    ["12", 12],
    ["6m0s", 360],
    ["1h2m3.5s", 3723.5],
    ["20ms", 0.02],
    ["soon", 0],
    ["5m or so", 0],
    [undefined, 0],
  ])("the reset %s is %s s", (reset, resetSeconds) => {
    const headers = {
      "x-ratelimit-limit-tokens": "9",
      "x-ratelimit-remaining-tokens": "1",
      "x-ratelimit-reset-tokens": reset,
    }
    expect(parseRateLimits(headers, NOW).tokens?.resetSeconds).toBe(resetSeconds)
  })

  test.each([
    [{}],
    [{ "x-ratelimit-limit-tokens": "9" }],
    [{ "x-ratelimit-limit-tokens": "many", "x-ratelimit-remaining-tokens": "1" }],
    [{ "x-ratelimit-limit-tokens": "", "x-ratelimit-remaining-tokens": "1" }],
  ])("%j is ignored", (headers) => {
    expect(parseRateLimits(headers, NOW)).toEqual({})
  })
})

test.each([
  [0, 60, 60],
  [0, 59, undefined],
  [1, 3600, undefined],
])("%i remaining for %i s: exhausted for %s", (remaining, resetSeconds, expected) => {
  expect(exhaustedForSeconds({ "tokens-1h": { limit: 10, remaining, resetSeconds, capturedAt: NOW } })).toBe(expected)
})

test("no limit is exhausted when none is reported", () => {
  expect(exhaustedForSeconds({})).toBeUndefined()
})

test.each([
  [100, 20, true],
  [100, 21, false],
  [0, 0, false],
])("of %i %i remain: near the limit %s", (limit, remaining, expected) => {
  expect(isNearLimit({ limit, remaining, resetSeconds: 1, capturedAt: NOW })).toBe(expected)
})
