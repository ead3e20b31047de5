import { getEventListeners } from "node:events"
import { expect, test } from "vitest"
import { isAbort, orAborted } from "./abort.ts"

test("work that ends first returns its value or fails, and leaves no listener", async () => {
  const { signal } = new AbortController()
  expect(await orAborted(Promise.resolve(1), signal)).toBe(1)
  await expect(orAborted(Promise.reject(new Error("no")), signal)).rejects.toThrow("no")
  expect(getEventListeners(signal, "abort")).toEqual([])
})

test("an abort ends the wait at once, and a late rejection of the work is ignored", async () => {
  const unhandled: unknown[] = []
  const listen = (reason: unknown): number => unhandled.push(reason)
  process.on("unhandledRejection", listen)
  try {
    const stop = new AbortController()
    const early = Promise.withResolvers<number>()
    const waiting = orAborted(early.promise, stop.signal)
    stop.abort()
    expect(await waiting).toBeUndefined()
    const late = Promise.withResolvers<number>()
    expect(await orAborted(late.promise, stop.signal)).toBeUndefined()
    early.reject(new Error("early"))
    late.reject(new Error("late"))
    await new Promise((resolve) => setImmediate(resolve))
    expect([unhandled, getEventListeners(stop.signal, "abort")]).toEqual([[], []])
  } finally {
    process.off("unhandledRejection", listen)
  }
})

test.each([
  [AbortSignal.abort().reason, true],
  [new DOMException("late", "TimeoutError"), true],
  [new Error("AbortError"), false],
  ["AbortError", false],
])("isAbort(%s) is %s", (error, expected) => {
  expect(isAbort(error)).toBe(expected)
})
