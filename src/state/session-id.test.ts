import { expect, test } from "vitest"
import type { Clock } from "../base/clock.ts"
import { cronSessionId, newSessionId, sessionIdKindOf } from "./session-id.ts"

// Local time, so that the expectation holds in every time zone.
const clock: Clock = { now: () => new Date(2026, 1, 3, 4, 5, 6).getTime(), sleep: () => Promise.resolve() }

test.each([
  ["terminal", /^20260203_040506_[0-9a-f]{6}$/],
  ["gateway", /^20260203_040506_[0-9a-f]{8}$/],
  ["background", /^bg_040506_[0-9a-f]{6}$/],
] as const)("the format of %s ids", (kind, pattern) => {
  const id = newSessionId(clock, kind)
  expect(id).toMatch(pattern)
  expect(sessionIdKindOf(id)).toBe(kind)
})

test("a scheduled run is named after its job", () => {
  expect(cronSessionId(clock, "daily-report")).toBe("cron_daily-report_20260203_040506")
})

test("two ids of the same second differ", () => {
  expect(newSessionId(clock, "terminal")).not.toBe(newSessionId(clock, "terminal"))
})
