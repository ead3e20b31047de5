import { expect, test } from "vitest"

import type { AssistantMessage, Message, ToolMessage } from "../protocol/message.ts"
import { mendBrokenCalls } from "./call-history-repair.ts"

const NOTE =
  "[The arguments of this call were damaged and replaced by {}. It did not do what you meant; call the tool again if you still need it.]"

const calls = (...args: readonly string[]): AssistantMessage => ({
  role: "assistant",
  content: null,
  tool_calls: args.map((text, index) => ({
    id: `c${index}`,
    type: "function",
    function: { name: "read_file", arguments: text },
  })),
})
const result = (id: string, content: ToolMessage["content"]): ToolMessage => ({
  role: "tool",
  content,
  tool_call_id: id,
  tool_name: "read_file",
})
const user: Message = { role: "user", content: "hi" }

test("a healthy history keeps its messages", () => {
  const history = [user, calls('{"path":"a"}'), result("c0", "ok")]
  mendBrokenCalls(history).forEach((message, index) => expect(message).toBe(history[index]))
})

test("broken arguments become {} and the result says so", () => {
  expect(
    mendBrokenCalls([user, calls('{"path":"a', '{"path":"b"}'), result("c0", "x"), result("c1", "y"), user]),
  ).toEqual([user, calls("{}", '{"path":"b"}'), result("c0", `${NOTE}\nx`), result("c1", "y"), user])
})

test("a result of parts gets the note as its first part", () => {
  const part = { type: "text", text: "x" } as const
  expect(mendBrokenCalls([calls("{"), result("c0", [part])])).toEqual([
    calls("{}"),
    result("c0", [{ type: "text", text: NOTE }, part]),
  ])
})

test("a missing result is added behind the others of its reply", () => {
  expect(mendBrokenCalls([calls("{", "{}"), result("c1", "y"), user])).toEqual([
    calls("{}", "{}"),
    result("c1", "y"),
    result("c0", NOTE),
    user,
  ])
})

test("a mended history is not mended again", () => {
  const mended = mendBrokenCalls([calls("{"), result("c0", "x")])
  expect(mendBrokenCalls(mended)).toEqual(mended)
})
