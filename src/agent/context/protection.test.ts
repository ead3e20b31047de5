import { describe, expect, test } from "vitest"

import { assistant, SETTINGS, talk, toolRound, toolRounds, user } from "../../../test/fixtures/agent/histories.ts"
import type { Message } from "../../protocol/message.ts"
import { createEstimator } from "./token-estimate.ts"
import { protectionOf, removableRounds } from "./protection.ts"
import { roundsOf } from "./rounds.ts"

const protect = (messages: readonly Message[], more: { small?: boolean; room?: number } = {}) =>
  protectionOf(messages, { settings: SETTINGS, small: false, room: 80_000, estimator: createEstimator(), ...more })

test("a round is a reply with its results and the user message before it; an unanswered user message is a separate round", () => {
  const messages = [
    user("a"),
    ...toolRound([
      { id: "c", result: "1" },
      { id: "d", result: "2" },
    ]),
    ...toolRounds(1, 10),
    assistant("x"),
    user("b"),
    assistant("y"),
    user("c"),
  ]
  expect(roundsOf(messages).map(({ start, end }) => [start, end])).toEqual([
    [0, 4],
    [4, 6],
    [6, 7],
    [7, 9],
    [9, 10],
  ])
})

test("pinned are the head, summaries, plans, the last user message and the last answer, with their calls and results", () => {
  const plan = toolRound([{ id: "p", result: "plan" }], { tool: { compression_priority: "high" } })
  const spoken = toolRound([{ id: "s", result: "r" }], { text: "Looking." })
  const summary = user("S", { compressed_summary: true, synthetic: "summary" })
  const messages = [
    ...toolRound([
      { id: "1", result: "a" },
      { id: "2", result: "b" },
      { id: "3", result: "c" },
    ]),
    summary,
    ...toolRounds(2, 10, "x"),
    ...plan,
    user("last words"),
    ...toolRounds(2, 10, "y"),
    ...spoken,
    ...toolRounds(1, 10, "z"),
  ]
  const { head, tailStart, pins } = protect(messages)
  expect([head, tailStart]).toEqual([3, 0])
  expect(messages.filter((message) => pins.all.has(message))).toEqual([
    ...messages.slice(0, 5),
    ...plan,
    user("last words"),
    ...spoken,
  ])
  expect(messages.filter((message) => pins.plans.has(message))).toEqual(plan)
})

test("where only the user message of a round is protected, its replies may be removed", () => {
  const messages = [user("task"), ...toolRounds(14, 100), user("more"), ...toolRounds(12, 100, "d")]
  const rounds = (protection = protect(messages)) => removableRounds(messages, protection).map(({ start }) => start)
  expect(rounds(protect(messages, { small: true, room: 100 })).slice(0, 3)).toEqual([1, 3, 5])
  expect(rounds().slice(0, 3)).toEqual([3, 5, 7])
  // The last user message is pinned.
  expect([rounds().includes(29), rounds().includes(30)]).toEqual([false, true])
  const summary = user("S", { compressed_summary: true, synthetic: "summary" })
  const withSummary = [summary, ...messages.slice(1)]
  const { pins, tailStart } = protect(withSummary)
  expect(removableRounds(withSummary, { head: 0, tailStart, pins })[0]?.start).toBe(3)
})

describe("in a small window", () => {
  test("head and tail stay while enough messages are between them", () => {
    const messages = [...talk(3, 40), assistant("ok"), ...toolRounds(40, 400)]
    const found = protect(messages, { small: true, room: 4500 })
    expect([found.head, messages.length - found.tailStart]).toEqual([3, 20])
  })

  test("otherwise they shrink", () => {
    const messages = [user("x".repeat(400)), ...toolRounds(1, 8000, "h"), ...toolRounds(14, 1000)]
    const found = protect(messages, { small: true, room: 500 })
    expect([found.head, messages.length - found.tailStart]).toEqual([1, 2])
    expect(protect(messages, { room: 500 })).toMatchObject({ head: 3, tailStart: messages.length - 20 })
  })
})
