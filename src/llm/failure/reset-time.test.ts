import { describe, expect, test } from "vitest"

import { findResetAt, parseResetDelay, parseTimestamp } from "./reset-time.ts"

test.each([
  [null, undefined],
  [undefined, undefined],
  ["", undefined],
  [0, undefined],
  [-5, undefined],
  ["soon", undefined],
  ["in 5 minutes", undefined],
  [Number.NaN, undefined],
  [{}, undefined],
  [1_700_000_000, 1_700_000_000],
  ["1700000000", 1_700_000_000],
  [1_700_000_000_000, 1_700_000_000],
  ["1700000000000", 1_700_000_000],
  ["2026-05-21T10:00:00Z", 1_779_357_600],
  ["Thu, 21 May 2026 10:00:00 GMT", 1_779_357_600],
])("the timestamp %j is %s", (value, expected) => {
  expect(parseTimestamp(value)).toBe(expected)
})

test.each([
  ["quotaResetDelay: 1500ms", 1.5],
  ['{"quotaResetDelay":"12.5s"}', 12.5],
  ["retry after 12 seconds", 12],
  ["Please retry in 7s.", 7],
  ["retry 3 sec", 3],
  ["Resets in 4hr 5min", 14_700],
  ["2hr", undefined],
  ["Resets in 2hr", 7200],
  ["resets in 7min", 420],
  ["It resets in 2 hours 1 minute.", 7260],
  ["resets in a while", undefined],
  ["retry after 3 attempts", undefined],
  ["rate limit", undefined],
])("the delay in %j is %s s", (text, expected) => {
  expect(parseResetDelay(text)).toBe(expected)
})

describe("findResetAt", () => {
  const NOW_SECONDS = 1_700_000_000
  const find = (parts: Partial<Parameters<typeof findResetAt>[0]>) =>
    findResetAt({ headers: {}, body: undefined, text: "", ...parts }, NOW_SECONDS * 1000)

  test.each([
    [{ body: { error: { resets_at: 1_700_000_100 } } }, 1_700_000_100],
    [{ body: { reset_at: "1700000100000" } }, 1_700_000_100],
    [{ body: { error: { retry_until: "2026-05-21T10:00:00Z" } } }, 1_779_357_600],
    [{ body: { retry_after: 30 } }, NOW_SECONDS + 30],
    [{ body: { error: { resets_in_seconds: 60 } } }, NOW_SECONDS + 60],
    [{ body: { error: { metadata: { headers: { "X-RateLimit-Reset": "1700000200000" } } } } }, 1_700_000_200],
    [{ headers: { "retry-after": "5" } }, NOW_SECONDS + 5],
    [{ headers: { "Retry-After": "Thu, 21 May 2026 10:00:00 GMT" } }, 1_779_357_600],
    [{ body: { retry_after: 30 }, headers: { "retry-after": "5" } }, NOW_SECONDS + 30],
    [{ text: "resets in 7min" }, NOW_SECONDS + 420],
    [{ body: { resets_at: NOW_SECONDS - 1 }, text: "resets in 7min" }, NOW_SECONDS + 420],
    [{ headers: { "retry-after": "soon" } }, undefined],
    [{ body: [] }, undefined],
  ])("%j → %s", (parts, expected) => {
    expect(find(parts)).toBe(expected)
  })
})
