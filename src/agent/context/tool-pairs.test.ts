import { expect, test } from "vitest"

import { assistant, toolRound, user } from "../../../test/fixtures/agent/histories.ts"
import type { Message } from "../../protocol/message.ts"
import { withWholePairs } from "./tool-pairs.ts"

const [calls, first, second] = toolRound([
  { id: "a", result: "1" },
  { id: "b", result: "2" },
]) as [Message, Message, Message]

test("complete pairs and calls that still run stay unchanged", () => {
  const whole = [user("u"), calls, first, second, assistant("x")]
  expect(withWholePairs(whole)).toBe(whole)
  const running = [user("u"), calls, first]
  expect(withWholePairs(running)).toBe(running)
})

test("results without a call are removed, calls without a result get a placeholder", () => {
  expect(withWholePairs([first, user("u"), second, calls, second, assistant("x"), first])).toEqual([
    user("u"),
    calls,
    second,
    {
      role: "tool",
      tool_call_id: "a",
      tool_name: "read_file",
      content: "[The result of this call is in the earlier part of the conversation, which was summarised.]",
    },
    assistant("x"),
  ])
})

test("a result may name its call by the id of the other wire", () => {
  const call = { id: "a", call_id: "wire-a", type: "function", function: { name: "t", arguments: "{}" } } as const
  const messages: readonly Message[] = [
    user("u"),
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "wire-a", tool_name: "t", content: "r" },
    assistant("x"),
  ]
  expect(withWholePairs(messages)).toBe(messages)
})
