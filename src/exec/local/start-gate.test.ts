import { expect, test } from "vitest"

import { createStartGate } from "./start-gate.ts"

const NEVER = new AbortController().signal

function command() {
  const { promise: exit, resolve: end } = Promise.withResolvers<void>()
  return { exit, end }
}

/** Starts commands and lists those that have begun. */
function startAll(count: number, places: number, signal = NEVER) {
  const gate = createStartGate(places)
  const commands = Array.from({ length: count }, command)
  const begun: number[] = []
  const results = commands.map((one, index) =>
    gate.start(() => {
      begun.push(index)
      return Promise.resolve(one)
    }, signal),
  )
  return { gate, commands, begun, results }
}

test("as many commands start at once as there are places, the others in order as places become free", async () => {
  const { commands, begun, results } = startAll(5, 2)
  await results[1]
  expect(begun).toEqual([0, 1])
  commands[1]?.end()
  await results[2]
  expect(begun).toEqual([0, 1, 2])
  for (const { end } of commands) end()
  await Promise.all(results)
  expect(begun).toEqual([0, 1, 2, 3, 4])
})

test("a command that goes on running makes room", async () => {
  const { begun, results } = startAll(4, 2)
  await Promise.all(results)
  expect(begun).toEqual([0, 1, 2, 3])
})

test("an abort ends the wait, and the place goes to the next one", async () => {
  const abort = new AbortController()
  const { gate, commands, begun, results } = startAll(2, 1, abort.signal)
  await results[0]
  const third = gate.start(() => Promise.resolve(command()), NEVER)
  abort.abort()
  expect(await results[1]).toBeUndefined()
  commands[0]?.end()
  expect(await third).toBeDefined()
  expect(begun).toEqual([0])
})

test("a command that cannot be started makes room", async () => {
  const gate = createStartGate(1)
  await expect(gate.start(() => Promise.reject(new Error("no shell")), NEVER)).rejects.toThrow("no shell")
  expect(await gate.start(() => Promise.resolve(command()), NEVER)).toBeDefined()
})
