import { getEventListeners } from "node:events"
import { expect, test } from "vitest"
import type { Clock } from "../base/clock.ts"
import { Interactions } from "./interactions.ts"

/** A clock that the test advances. */
function manualClock() {
  const passed = Promise.withResolvers<undefined>()
  const clock: Clock = {
    now: () => 0,
    sleep: async (_ms, { signal }) => {
      const aborted = Promise.withResolvers<undefined>()
      signal.addEventListener("abort", () => {
        aborted.reject(new Error("aborted"))
      })
      await Promise.race([passed.promise, aborted.promise])
    },
  }
  return {
    clock,
    pass: () => {
      passed.resolve(undefined)
    },
  }
}

const question = { id: "q", kind: "approval", timeoutMs: 1000 } as const

test("the first answer of the right kind is accepted, any other is rejected", async () => {
  const interactions = new Interactions(manualClock().clock)
  const waiting = interactions.wait(question, new AbortController().signal)
  expect([
    interactions.answer("other", { kind: "approval", choice: "once" }),
    interactions.answer("q", { kind: "clarify", text: "x" }),
    interactions.answer("q", { kind: "approval", choice: "once" }),
    interactions.answer("q", { kind: "approval", choice: "deny" }),
  ]).toEqual([false, false, true, false])
  expect(await waiting).toEqual({ kind: "approval", choice: "once" })
})

test("a timeout or an interrupt closes the question; a late answer is rejected", async () => {
  const time = manualClock()
  const late = new Interactions(time.clock)
  const waiting = late.wait(question, new AbortController().signal)
  time.pass()
  expect([await waiting, late.answer("q", { kind: "approval", choice: "once" })]).toEqual(["timeout", false])

  const stop = new AbortController()
  const stopped = new Interactions(manualClock().clock)
  const interrupted = stopped.wait(question, stop.signal)
  const endless = stopped.wait({ ...question, id: "r", timeoutMs: 0 }, stop.signal)
  stop.abort()
  expect([await interrupted, await endless, await stopped.wait(question, stop.signal)]).toEqual([
    "interrupted",
    "interrupted",
    "interrupted",
  ])
  expect(stopped.answer("r", { kind: "approval", choice: "once" })).toBe(false)
})

test("an answered question leaves no listener on the run's signal", async () => {
  const interactions = new Interactions(manualClock().clock)
  const { signal } = new AbortController()
  const waiting = interactions.wait({ ...question, timeoutMs: 2 ** 40 }, signal)
  interactions.answer("q", { kind: "approval", choice: "session" })
  await waiting
  expect(getEventListeners(signal, "abort")).toEqual([])
  expect([interactions.nextId("a"), interactions.nextId("a")]).toEqual(["a_1", "a_2"])
})
