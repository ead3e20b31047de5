import { describe, expect, test } from "vitest"

import { assistant, talk, toolRound, user } from "../../../../test/fixtures/agent/histories.ts"
import { createEstimator } from "../token-estimate.ts"
import { findBoundaries } from "./boundaries.ts"

const find = (messages: Parameters<typeof findBoundaries>[0], tailTokens: number, more = {}) =>
  findBoundaries(messages, { head: 3, protectLastN: 20, tailTokens, estimator: createEstimator(), ...more })

/** The tables of the spec count the system message, which these lists do not contain: every index is one less here. */
describe("start and cut of alternating messages", () => {
  test.each([
    [30, 400, 200, 4, 23],
    [30, 40, 200, 4, 16],
    [30, 4000, 20_000, 4, 11],
    [10, 400, 100_000, 4, 7],
    [100, 4000, 5000, 4, 93],
    [6, 40, 20_000, 4, 5],
  ])("%i × %i characters, budget %i", (count, chars, budget, start, cut) => {
    const found = find(talk(count, chars), budget)
    expect([found.start + 1, found.cut + 1]).toEqual([start, cut])
  })

  test("last user before two tool groups", () => {
    const messages = [
      ...talk(8, 40),
      user("x".repeat(40)),
      ...toolRound([{ id: "a", result: "y".repeat(4000) }]),
      ...toolRound([{ id: "b", result: "z".repeat(40) }]),
    ]
    const found = find(messages, 100)
    expect([found.start + 1, found.cut + 1, messages.length + 1]).toEqual([4, 7, 14])
  })
})

test("the start moves past results whose call is in the head", () => {
  const messages = [
    user("a"),
    ...toolRound([
      { id: "a", result: "1" },
      { id: "b", result: "2" },
      { id: "c", result: "3" },
    ]),
    ...talk(20, 40).slice(1),
  ]
  expect(find(messages, 100).start).toBe(5)
})

test("the cut does not separate a call from its results", () => {
  const group = toolRound(Array.from({ length: 9 }, (_, index) => ({ id: `c${index}`, result: "x".repeat(400) })))
  const messages = [...talk(10, 400), ...group, assistant("done")]
  const { cut } = find(messages, 100)
  expect(messages[cut]?.role).not.toBe("tool")
  expect(cut).toBeLessThanOrEqual(10)
})

test("the last user message and the last answer come after the cut; the cut by size ignores them", () => {
  const run = Array.from({ length: 30 }, (_, index) => toolRound([{ id: `c${index}`, result: "x".repeat(400) }])).flat()
  const messages = [...talk(12, 40), user("go"), ...run]
  const found = find(messages, 500)
  expect(found.cut).toBe(11)
  expect(found.sizeCut).toBeGreaterThan(50)
})
