import { expect, test } from "vitest"
import type { AssistantMessage, Message, ToolCall, ToolMessage, UserMessage } from "../protocol/message.ts"
import {
  repairSequence,
  resultsForUnsettledCalls,
  withEveryCallSettled,
  withoutDuplicateCalls,
} from "./history-repair.ts"
import { fc } from "../../test/support/property.ts"

const user = (content: UserMessage["content"]): UserMessage => ({ role: "user", content })
const call = (id: string, args = "{}", name = "t"): ToolCall => ({
  id,
  type: "function",
  function: { name, arguments: args },
})
const assistant = (...ids: readonly string[]): AssistantMessage => ({
  role: "assistant",
  content: ids.length === 0 ? "text" : null,
  ...(ids.length === 0 ? {} : { tool_calls: ids.map((id) => call(id)) }),
})
const tool = (id: string): ToolMessage => ({ role: "tool", content: "r", tool_call_id: id, tool_name: "t" })
const text = (value: string) => ({ type: "text", text: value }) as const

test.each<[string, Message[], Message[], number]>([
  ["two user messages", [user("a"), user("b")], [user("a\n\nb")], 1],
  ["a stray result", [user("a"), tool("x"), assistant()], [user("a"), assistant()], 1],
  [
    "a good history",
    [user("a"), assistant("x", "y"), tool("x"), tool("y"), assistant()],
    [user("a"), assistant("x", "y"), tool("x"), tool("y"), assistant()],
    0,
  ],
  [
    "a result repeated later",
    [assistant("x"), tool("x"), user("a"), tool("x")],
    [assistant("x"), tool("x"), user("a")],
    1,
  ],
  ["a result repeated at once", [assistant("x"), tool("x"), tool("x")], [assistant("x"), tool("x")], 1],
  ["text and parts", [user("a"), user([text("b"), text("c")])], [user([text("a"), text("b"), text("c")])], 1],
  ["users around a stray result", [user("a"), tool("x"), user("b")], [user("a\n\nb")], 2],
  ["two assistants", [assistant(), assistant()], [assistant(), assistant()], 0],
  ["nothing", [], [], 0],
])("%s", (_what, given, messages, repairs) => {
  expect(repairSequence(given)).toEqual({ messages, repairs })
})

test("injected text is merged as well", () => {
  const merged = repairSequence([
    { ...user("a"), injected: "i" },
    { ...user("b"), injected: "j", timestamp: 2 },
  ]).messages
  expect(merged).toEqual([{ role: "user", content: "a\n\nb", injected: "i\n\nj", timestamp: 2 }])
})

const anyMessage = fc.oneof(
  fc.string({ maxLength: 3 }).map(user),
  fc.constantFrom([text("p")]).map(user),
  fc.uniqueArray(fc.constantFrom("x", "y", "z")).map((ids) => assistant(...ids)),
  fc.constantFrom("x", "y", "z").map(tool),
)

test("repairing is idempotent, keeps valid messages as the same objects, and makes every history valid", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 14 }), (given) => {
      const once = repairSequence(withEveryCallSettled(given)).messages
      const twice = repairSequence(withEveryCallSettled(once))
      expect([twice.repairs, twice.messages === once]).toEqual([0, true])
      let open = new Set<string>()
      for (const [index, message] of once.entries()) {
        if (message.role === "tool") expect(open.delete(message.tool_call_id)).toBe(true)
        else expect([...open]).toEqual([])
        if (message.role === "assistant") open = new Set((message.tool_calls ?? []).map(({ id }) => id))
        if (message.role === "user") expect(once[index - 1]?.role).not.toBe("user")
      }
      expect([...open]).toEqual([])
    }),
  )
})

test("calls without a result get one with status unknown, in call order", () => {
  const unknown = { tool_name: "t", role: "tool", content: expect.stringContaining('"status":"unknown"') }
  expect(resultsForUnsettledCalls([user("a"), assistant("x", "y", "z"), tool("y")])).toEqual([
    { ...unknown, tool_call_id: "x" },
    { ...unknown, tool_call_id: "z" },
  ])
  expect([resultsForUnsettledCalls([user("a"), assistant()]), resultsForUnsettledCalls([])]).toEqual([[], []])
  expect(withEveryCallSettled([assistant("x"), user("a")])).toEqual([
    assistant("x"),
    { ...unknown, tool_call_id: "x" },
    user("a"),
  ])
})

test("a repeated call is dropped; different calls with the same id get distinct ids", () => {
  const calls = [
    call("1", '{"p":1,"q":2}', "read_file"),
    call("2", '{"q": 2, "p": 1}', "read_file"),
    call("1", '{"p":2}', "read_file"),
    call("1", '{"p":3}', "read_file"),
    call("4", "broken", "read_file"),
  ]
  expect(withoutDuplicateCalls(calls).map(({ id, function: { arguments: args } }) => [id, args])).toEqual([
    ["1", '{"p":1,"q":2}'],
    ["1_2", '{"p":2}'],
    ["1_3", '{"p":3}'],
    ["4", "broken"],
  ])
})
