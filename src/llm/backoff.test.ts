import { describe, expect, test } from "vitest"

import { backoffMs } from "./backoff.ts"

describe("backoffMs", () => {
  test.each([
    { attempt: 1, base: 5, max: 120, ratio: 0.5, from: 5, to: 7.5 },
    { attempt: 2, base: 5, max: 120, ratio: 0.5, from: 10, to: 15 },
    { attempt: 5, base: 5, max: 120, ratio: 0.5, from: 80, to: 120 },
    { attempt: 6, base: 5, max: 120, ratio: 0.5, from: 120, to: 180 },
    { attempt: 100, base: 5, max: 120, ratio: 0.5, from: 120, to: 180 },
    { attempt: 5000, base: 5, max: 120, ratio: 0.5, from: 120, to: 180 },
    { attempt: 1, base: 2, max: 60, ratio: 0.5, from: 2, to: 3 },
    { attempt: 6, base: 2, max: 60, ratio: 0.5, from: 60, to: 90 },
    { attempt: 3, base: 5, max: 120, ratio: 0, from: 20, to: 20 },
    { attempt: 1, base: 0, max: 120, ratio: 0, from: 120, to: 120 },
    { attempt: 1, base: -1, max: 120, ratio: 0, from: 120, to: 120 },
  ])("attempt $attempt, base $base s, max $max s, ratio $ratio → $from to $to s", (row) => {
    const delay = (random: number) =>
      backoffMs({
        attempt: row.attempt,
        baseMs: row.base * 1000,
        maxMs: row.max * 1000,
        ratio: row.ratio,
        random: () => random,
      })
    expect([delay(0), delay(1)]).toEqual([row.from * 1000, row.to * 1000])
  })

  test("two calls at the same instant differ", () => {
    const options = { attempt: 1, baseMs: 5000, maxMs: 120_000, ratio: 0.5, random: Math.random }
    expect(backoffMs(options)).not.toBe(backoffMs(options))
  })
})
