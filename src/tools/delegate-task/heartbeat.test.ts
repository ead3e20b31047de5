import { expect, test } from "vitest"

import { manualClock } from "../../../test/support/manual-clock.ts"
import { keepAlive } from "./heartbeat.ts"
import type { ChildProgress } from "./heartbeat.ts"

test.each([
  ["between calls", undefined, 14],
  ["inside one tool", "terminal", 39],
])("beats stop for good when nothing changes %s", async (_name, tool, beats) => {
  const clock = manualClock()
  let count = 0
  const done = keepAlive(() => ({ iteration: 1, tool }), {
    clock,
    signal: new AbortController().signal,
    beat: () => {
      count += 1
    },
  })
  await clock.advance(60 * 30_000)
  await done
  expect(count).toBe(beats)
})

test("a new iteration or tool starts the count again, and the signal ends it", async () => {
  const clock = manualClock()
  const stop = new AbortController()
  let progress: ChildProgress = { iteration: 1, tool: undefined }
  let count = 0
  const done = keepAlive(() => progress, {
    clock,
    signal: stop.signal,
    beat: () => {
      count += 1
    },
  })
  await clock.advance(14 * 30_000)
  progress = { iteration: 2, tool: undefined }
  await clock.advance(10 * 30_000)
  expect(count).toBe(24)
  stop.abort()
  await done
})
