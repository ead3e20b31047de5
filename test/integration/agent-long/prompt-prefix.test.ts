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
  // What was to happen did happen.
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
  let at = 0
  while (at < before.length && before[at] === after[at]) at += 1
  return `${before.slice(Math.max(0, at - 60), at + 60)} | ${after.slice(Math.max(0, at - 60), at + 60)}`
}
