import { setTimeout as delay } from "node:timers/promises"
import { expect, test, vi } from "vitest"

import { systemClock } from "../../base/clock.ts"
import { createLogger } from "../../base/logger.ts"
import { createDispatchHarness } from "../../../test/fixtures/agent/dispatch-harness.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import { createToolPreparation } from "./tool-preparation.ts"

const READ_FILE: Omit<ToolEntry, "load"> = {
  name: "read_file",
  toolset: "file",
  description: "",
  parameters: {},
  source: { kind: "builtin" },
}

async function prepared(awaitingReply: () => Promise<void>, load?: ToolEntry["load"]) {
  const tools = new Map(load === undefined ? [] : [["read_file", { ...READ_FILE, load }]])
  const harness = await createDispatchHarness([], { more: { tools } })
  const log = createLogger({ sinks: [], clock: systemClock, redact: (line) => line })
  const prepare = createToolPreparation({ dispatch: harness.session, facets: { awaitingReply }, log, delayMs: 10 })
  return { harness, prepare }
}

test("prepares once, however many requests follow", async () => {
  using timers = vi.spyOn(globalThis, "setTimeout")
  const awaitingReply = vi.fn(() => Promise.resolve())
  const { harness, prepare } = await prepared(awaitingReply)
  await using _harness = harness
  prepare.awaitReply(new AbortController().signal)
  await vi.waitFor(() => {
    expect(awaitingReply).toHaveBeenCalledOnce()
  })
  timers.mockClear()
  prepare.awaitReply(new AbortController().signal)
  expect(timers).not.toHaveBeenCalled()
})

test("a run that ends first prepares nothing, and the next run does", async () => {
  const awaitingReply = vi.fn(() => Promise.resolve())
  const { harness, prepare } = await prepared(awaitingReply)
  await using _harness = harness
  const ended = new AbortController()
  prepare.awaitReply(ended.signal)
  ended.abort()
  const next = new AbortController()
  prepare.awaitReply(next.signal)
  await vi.waitFor(() => {
    expect(awaitingReply.mock.calls).toEqual([[next.signal]])
  })
})

test("a call that runs stops the preparation, and the next request continues it", async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const awaitingReply = vi.fn(() => opened)
  const load = vi.fn(() => Promise.reject(new Error("not called in this test")))
  const { harness, prepare } = await prepared(awaitingReply, load)
  await using _harness = harness
  const { signal } = new AbortController()
  prepare.awaitReply(signal)
  await vi.waitFor(() => {
    expect(awaitingReply).toHaveBeenCalledOnce()
  })
  prepare.pause()
  open()
  await delay(50)
  expect(load).not.toHaveBeenCalled()
  prepare.awaitReply(signal)
  await vi.waitFor(() => {
    expect(load).toHaveBeenCalled()
  })
  expect(awaitingReply).toHaveBeenCalledOnce()
})
