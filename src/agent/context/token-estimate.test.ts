import { describe, expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../test/fixtures/agent/histories.ts"
import type { Message } from "../../protocol/message.ts"
import { createEstimator } from "./token-estimate.ts"

const IMAGE = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(9000)}` } } as const

describe("text", () => {
  test.each([
    ["", 0],
    ["a", 1],
    ["abcd", 1],
    ["abcde", 2],
    ["😀😀😀😀", 1],
    ["😀😀😀😀😀", 2],
  ])("%j is %i tokens", (text, tokens) => {
    expect(createEstimator().text(text)).toBe(tokens)
  })
})

describe("messages", () => {
  const calls = toolRound([{ id: "c", args: { path: "a" }, result: "12345678" }])
  const callJson = JSON.stringify((calls[0] as { tool_calls: unknown }).tool_calls).length
  const cases: readonly (readonly [string, readonly Message[], number])[] = [
    ["nothing", [], 0],
    // "user" and 12 characters.
    ["a user message", [user("x".repeat(12))], 4],
    ["characters add up over messages before they are rounded", [user("x"), user("y")], 3],
    ["injected text is sent too", [user("x".repeat(12), { injected: "y".repeat(8) })], 6],
    ["an image costs the same whatever its size", [user([{ type: "text", text: "x".repeat(12) }, IMAGE])], 1504],
    ["calls are sent as JSON", calls, Math.ceil((9 + callJson + 4 + 8) / 4)],
    [
      "reasoning counts by its carriers, not by its displayed text",
      [
        assistant("abc", {
          reasoning: "z".repeat(400),
          reasoning_content: "y".repeat(8),
          reasoning_details: [{ a: 1 }],
        }),
      ],
      Math.ceil((9 + 3 + 8 + '[{"a":1}]'.length) / 4),
    ],
    [
      "blocks that repeat the details are sent instead of them",
      [assistant("abc", { reasoning_details: [{ a: 1 }], anthropic_content_blocks: [{ b: "x".repeat(100) }] })],
      Math.ceil((9 + 3 + '[{"a":1}]'.length) / 4),
    ],
  ]
  test.each(cases)("%s", (_name, messages, tokens) => {
    expect(createEstimator().messages(messages)).toBe(tokens)
  })
})

test("a request is its messages, its system prompt and its tools", () => {
  const tools = [{ name: "t", description: "d", parameters: { type: "object" } }]
  expect(createEstimator().request({ system: "12345", messages: [user("x".repeat(12))], tools })).toBe(
    4 + 2 + Math.ceil(JSON.stringify(tools).length / 4),
  )
  expect(createEstimator().request({ system: "", messages: [], tools: [] })).toBe(0)
})

test("messages of the tail are rounded down and have a fixed cost", () => {
  const estimator = createEstimator()
  const [call] = toolRound([{ id: "c", args: { path: "x".repeat(29) }, result: "" }])
  const counted = [user("x".repeat(43)), user([IMAGE]), call!].map((message) => estimator.tailMessage(message))
  expect(counted).toEqual([20, 1610, 20])
})

test("a message is measured once, even in a long history", () => {
  const estimator = createEstimator()
  let reads = 0
  const counted: Message = {
    role: "user",
    get content() {
      reads += 1
      return "x".repeat(100)
    },
  }
  const history = Array.from({ length: 1000 }, () => counted)
  expect([estimator.messages(history), estimator.messages(history), reads]).toEqual([26_000, 26_000, 1])
})
