import { expect, test } from "vitest"

import { manualClock } from "../../test/support/manual-clock.ts"
import { keepFor } from "./kept-value.ts"

test("a value is loaded again when its time is over or loading failed", async () => {
  const clock = manualClock()
  const loaded: string[] = []
  const get = keepFor(5000, {
    clock,
    load: (key: string) => {
      loaded.push(key)
      return key === "bad" ? Promise.reject(new Error("no")) : Promise.resolve(key.toUpperCase())
    },
  })
  expect(await Promise.all([get("a"), get("a"), get("b")])).toEqual(["A", "A", "B"])
  await expect(get("bad")).rejects.toThrow("no")
  await expect(get("bad")).rejects.toThrow("no")
  await clock.advance(4999)
  await get("a")
  expect(loaded).toEqual(["a", "b", "bad", "bad"])
  await clock.advance(1)
  await get("a")
  expect(loaded.at(-1)).toBe("a")
})
