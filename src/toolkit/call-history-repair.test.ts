import { expect, test } from "vitest"

import type { AssistantMessage, Message, ToolMessage } from "../protocol/message.ts"
import { repairCallHistory } from "./call-history-repair.ts"

const NOTE =
  "[The arguments of this call were damaged and replaced by {}. It did not do what you intended; call the tool again if you still need it.]"

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
  repairCallHistory(history).forEach((message, index) => expect(message).toBe(history[index]))
})

test("broken arguments become {} and the result explains it", () => {
  expect(
    repairCallHistory([user, calls('{"path":"a', '{"path":"b"}'), result("c0", "x"), result("c1", "y"), user]),
  ).toEqual([user, calls("{}", '{"path":"b"}'), result("c0", `${NOTE}\nx`), result("c1", "y"), user])
})

test("a result of parts gets the note as its first part", () => {
  const part = { type: "text", text: "x" } as const
  expect(repairCallHistory([calls("{"), result("c0", [part])])).toEqual([
    calls("{}"),
    result("c0", [{ type: "text", text: NOTE }, part]),
  ])
})

test("a missing result is added after the others of its reply", () => {
  expect(repairCallHistory([calls("{", "{}"), result("c1", "y"), user])).toEqual([
    calls("{}", "{}"),
    result("c1", "y"),
    result("c0", NOTE),
    user,
  ])
})

test("a repaired history is not repaired again", () => {
  const repaired = repairCallHistory([calls("{"), result("c0", "x")])
  expect(repairCallHistory(repaired)).toEqual(repaired)
})

test("a repaired message is the same object in every request, so that its cached bytes stay valid", () => {
  const history = [calls("{", "{}", "{"), result("c0", "x"), result("c1", "y"), user]
  const first = repairCallHistory(history)
  repairCallHistory([...history, calls("{}")])
    .slice(0, -1)
    .forEach((message, index) => expect(message).toBe(first[index]))
})
