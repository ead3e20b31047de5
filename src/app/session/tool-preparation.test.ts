import { expect, test, vi } from "vitest"

import { systemClock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { createDispatchHarness } from "../../../test/fixtures/agent/dispatch-harness.ts"
import { createToolPreparation } from "./tool-preparation.ts"

async function prepared(awaitingReply: () => Promise<void>) {
  const harness = await createDispatchHarness([])
  const log = createLogger({ sinks: [], clock: systemClock, redact: (line) => line })
  const prepare = createToolPreparation({ dispatch: harness.session, facets: { awaitingReply }, log, delayMs: 10 })
  return { harness, prepare }
}

test("prepares once, however many requests follow", async () => {
  using timers = vi.spyOn(globalThis, "setTimeout")
  const awaitingReply = vi.fn(() => Promise.resolve())
  const { harness, prepare } = await prepared(awaitingReply)
  await using _harness = harness
  prepare(new AbortController().signal)
  await vi.waitFor(() => {
    expect(awaitingReply).toHaveBeenCalledOnce()
  })
  timers.mockClear()
  prepare(new AbortController().signal)
  expect(timers).not.toHaveBeenCalled()
})

test("a run that ends first prepares nothing, and the next run does", async () => {
  const awaitingReply = vi.fn(() => Promise.resolve())
  const { harness, prepare } = await prepared(awaitingReply)
  await using _harness = harness
  const ended = new AbortController()
  prepare(ended.signal)
  ended.abort()
  const next = new AbortController()
  prepare(next.signal)
  await vi.waitFor(() => {
    expect(awaitingReply.mock.calls).toEqual([[next.signal]])
  })
})
