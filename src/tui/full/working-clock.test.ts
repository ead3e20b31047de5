import { expect, test } from "vitest"

import { manualClock } from "../../../test/support/manual-clock.ts"
import { createWorkingClock } from "./working-clock.ts"

test("the time of open questions is not counted", async () => {
  const clock = manualClock(1000)
  let isAsking = false
  const working = createWorkingClock(() => isAsking, clock)
  const set = (asking: boolean): void => {
    isAsking = asking
    working.questionsChanged()
  }
  const started = working.now()
  await clock.advance(200)
  set(true)
  await clock.advance(5000)
  expect(working.now() - started).toBe(200)
  // Another question follows at once, and the end of one is reported twice.
  set(true)
  await clock.advance(5000)
  set(false)
  set(false)
  await clock.advance(50)
  expect(working.now() - started).toBe(250)
})
