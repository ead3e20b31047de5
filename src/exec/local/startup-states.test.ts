import { expect, test } from "vitest"

import { createStartupStates } from "./startup-states.ts"

function counting(results: readonly (string | undefined)[]) {
  let calls = 0
  const capture = (): Promise<string | undefined> => Promise.resolve(results[calls++])
  return { capture, calls: () => calls }
}

test("callers with the same key share one capture, also while it runs", async () => {
  const states = createStartupStates()
  const source = counting(["a", "b"])
  const both = await Promise.all([states.get("key", source.capture), states.get("key", source.capture)])
  expect([...both, await states.get("key", source.capture), source.calls()]).toEqual(["a", "a", "a", 1])
  expect(await states.get("other", source.capture)).toBe("b")
})

test("a capture that fails is not shared: each caller makes its own", async () => {
  const states = createStartupStates()
  const source = counting([undefined, "b", "c"])
  const first = states.get("key", source.capture)
  const second = states.get("key", source.capture)
  expect([await first, await second, await states.get("key", source.capture)]).toEqual([undefined, "b", "c"])
})

test("an old state is captured again", async () => {
  let now = 0
  const states = createStartupStates(() => now)
  const source = counting(["a", "b"])
  await states.get("key", source.capture)
  now = 60_000
  expect(await states.get("key", source.capture)).toBe("b")
})

test("the number of states is limited", async () => {
  const states = createStartupStates()
  for (let index = 0; index < 20; index += 1) await states.get(String(index), () => Promise.resolve(String(index)))
  const source = counting(["again"])
  expect([await states.get("0", source.capture), await states.get("19", source.capture)]).toEqual(["again", "19"])
})
