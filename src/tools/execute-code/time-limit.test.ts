import { afterEach, beforeEach, expect, test, vi } from "vitest"

import { startTimeLimit } from "./time-limit.ts"

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test("the time in which a question waits for the user does not count", () => {
  let changed: (isWaiting: boolean) => void = () => undefined
  const limit = startTimeLimit(1000, {
    onUserWait: (watcher) => {
      changed = watcher
      return () => undefined
    },
  })
  vi.advanceTimersByTime(600)
  changed(true)
  changed(true)
  vi.advanceTimersByTime(1_000_000)
  expect(limit.signal.aborted).toBe(false)
  changed(false)
  vi.advanceTimersByTime(399)
  expect(limit.signal.aborted).toBe(false)
  vi.advanceTimersByTime(2)
  expect(limit.signal.aborted).toBe(true)
})

test("a cleared limit neither fires nor watches", () => {
  const unwatch = vi.fn<() => void>()
  const limit = startTimeLimit(10, { onUserWait: () => unwatch })
  limit.clear()
  vi.advanceTimersByTime(100)
  expect(limit.signal.aborted).toBe(false)
  expect(unwatch).toHaveBeenCalledOnce()
})
