import { expect, test } from "vitest"

import { eventfulSession } from "./eventful-session.ts"
import { extendsRequest } from "./request-prefix.ts"

test("memory writes, notes, task lists, modes, models and restarts never change what was sent before", async () => {
  const bodies = await eventfulSession()
  expect(bodies).toHaveLength(21)
  const changed = bodies.slice(1).flatMap((body, index) => {
    const before = bodies[index] ?? ""
    return extendsRequest(before, body) ? [] : [`request ${index + 1}: ${firstDifference(before, body)}`]
  })
  expect(changed).toEqual([])
  // Each of the events took place.
  const last = bodies.at(-1) ?? ""
  for (const trace of [
    "Use the small brush.",
    "Be deep.",
    "answered by other-model",
    "interrupted",
    "What worked then",
  ]) {
    expect(last).toContain(trace)
  }
})

function firstDifference(before: string, after: string): string {
  let index = 0
  while (index < before.length && before[index] === after[index]) index += 1
  const around = (text: string): string => text.slice(Math.max(0, index - 60), index + 60)
  return `${around(before)} | ${around(after)}`
}
