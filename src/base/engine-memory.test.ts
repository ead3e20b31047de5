import { setImmediate } from "node:timers/promises"

import { expect, test } from "vitest"

import { collectGarbage, engineFlagsHaveChanged } from "./engine-memory.ts"

test("garbage is collected at once", async () => {
  const unused = new WeakRef({ text: "unused".repeat(1000) })
  // What was created in this turn of the event loop is kept until its end.
  await setImmediate()
  collectGarbage()
  expect(unused.deref()).toBeUndefined()
  expect(engineFlagsHaveChanged()).toBe(true)
})
