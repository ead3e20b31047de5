import { describe, expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../test/fixtures/agent/histories.ts"
import type { Message } from "../../protocol/message.ts"
import { isValidHistory } from "./history-validity.ts"

const two = toolRound([
  { id: "a", result: "1" },
  { id: "b", result: "2" },
])
const [calls, first, second] = two as [Message, Message, Message]

describe("valid", () => {
  const cases: readonly (readonly [string, readonly Message[]])[] = [
    ["nothing", []],
    ["alternating roles", [user("a"), assistant("b"), user("c")]],
    ["two users in a row", [user("a"), user("b")]],
    ["an assistant begins", [assistant("b"), user("c")]],
    ["calls with their results, then the next reply", [user("a"), ...two, ...toolRound([{ id: "c", result: "3" }])]],
    ["results in another order", [user("a"), calls, second, first, assistant("b")]],
    ["a user message after results", [user("a"), ...two, user("b")]],
    ["the last calls still run", [user("a"), calls, first]],
  ]
  test.each(cases)("%s", (_name, messages) => {
    expect(isValidHistory(messages)).toBe(true)
  })
})

describe("not valid", () => {
  const cases: readonly (readonly [string, readonly Message[]])[] = [
    ["a system message", [{ role: "system", content: "x" }, user("a")]],
    ["two replies in a row", [user("a"), assistant("b"), assistant("c")]],
    ["a result without a call", [user("a"), first]],
    ["a result of another call", [user("a"), ...toolRound([{ id: "x", result: "1" }]).slice(0, 1), first]],
    ["a result twice", [user("a"), ...two, second]],
    ["a call without a result", [user("a"), calls, first, assistant("b")]],
    ["a call without a result before a user", [user("a"), calls, first, user("b")]],
    [
      "one id for two calls",
      [
        user("a"),
        ...toolRound([
          { id: "a", result: "1" },
          { id: "a", result: "2" },
        ]),
      ],
    ],
  ]
  test.each(cases)("%s", (_name, messages) => {
    expect(isValidHistory(messages)).toBe(false)
  })
})
