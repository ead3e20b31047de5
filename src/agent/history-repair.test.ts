import { expect, test } from "vitest"
import { contentText } from "../protocol/message.ts"
import type { AssistantMessage, Message, ToolCall, ToolMessage, UserMessage } from "../protocol/message.ts"
import { isValidHistory } from "./context/history-validity.ts"
import {
  repairHistory,
  repairStoredHistory,
  resultsForUnsettledCalls,
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
const note = (content: string): UserMessage => ({ role: "user", content, synthetic: "todo" })
const noReply: AssistantMessage = {
  role: "assistant",
  content: expect.stringContaining("There was no reply to this message") as string,
}
const gap = expect.objectContaining({ role: "user", synthetic: "gap" })
const text = (value: string) => ({ type: "text", text: value }) as const

test.each<[string, Message[], Message[]]>([
  ["two user messages", [user("a"), user("b")], [user("a"), noReply, user("b")]],
  ["a note before a user message", [note("a"), user("b")], [user("a\n\nb")]],
  ["a stray result", [user("a"), tool("x"), assistant()], [user("a"), assistant()]],
  [
    "a good history",
    [user("a"), assistant("x", "y"), tool("x"), tool("y"), assistant()],
    [user("a"), assistant("x", "y"), tool("x"), tool("y"), assistant()],
  ],
  [
    "a result repeated later",
    [assistant("x"), tool("x"), user("a"), tool("x")],
    [assistant("x"), tool("x"), user("a")],
  ],
  ["a result repeated at once", [assistant("x"), tool("x"), tool("x")], [assistant("x"), tool("x")]],
  ["text and parts", [note("a"), user([text("b"), text("c")])], [user([text("a"), text("b"), text("c")])]],
  ["users around a stray result", [user("a"), tool("x"), user("b")], [user("a"), noReply, user("b")]],
  ["two replies", [assistant(), assistant()], [assistant(), gap, assistant()]],
  [
    "results stored after the messages of another process",
    [user("a"), assistant("x", "y"), tool("y"), user("b"), assistant("z"), tool("x"), tool("z"), assistant()],
    [user("a"), assistant("x", "y"), tool("y"), tool("x"), user("b"), assistant("z"), tool("z"), assistant()],
  ],
  [
    "the same id in two rounds",
    [assistant("x"), tool("x"), assistant("x"), user("a"), tool("x")],
    [assistant("x"), tool("x"), assistant("x"), tool("x"), user("a")],
  ],
  ["nothing", [], []],
])("%s", (_what, given, messages) => {
  expect(repairHistory(given)).toEqual(messages)
})

test("injected text is merged as well", () => {
  const merged = repairHistory([
    { ...note("a"), injected: "i" },
    { ...user("b"), injected: "j", timestamp: 2 },
  ])
  expect(merged).toEqual([{ role: "user", content: "a\n\nb", injected: "i\n\nj", timestamp: 2 }])
})

const anyMessage = fc.oneof(
  fc.string({ maxLength: 3 }).map(user),
  fc.constantFrom([text("p")]).map(user),
  fc.uniqueArray(fc.constantFrom("x", "y", "z")).map((ids) => assistant(...ids)),
  fc.constantFrom("x", "y", "z").map(tool),
)

test("repairing is idempotent, keeps valid histories as the same objects, and makes every history valid", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 14 }), (given) => {
      const once = repairHistory(given)
      expect(isValidHistory(once)).toBe(true)
      expect(once.filter(({ role }, index) => role === "user" && once[index - 1]?.role === "user")).toEqual([])
      expect(repairHistory(once)).toBe(once)
      // Nothing that was said is lost.
      const words = once.map((message) => contentText(message.content)).join("\n")
      for (const { role, content } of given) if (role === "user") expect(words).toContain(contentText(content))
    }),
  )
})

test("the repair of stored messages keeps their rows; what it adds has the row next to it", () => {
  const gone = { role: "tool", tool_call_id: "y" }
  const stored: readonly Message[] = [user("a"), user("b"), assistant(), assistant(), assistant("x", "y"), tool("x")]
  const rows = new Map(stored.map((message, index) => [message, 10 + index]))
  expect([...repairStoredHistory(rows)]).toMatchObject([
    [user("a"), 10],
    [user("b"), 11],
    [assistant(), 12],
    [{ synthetic: "gap" }, 13],
    [assistant(), 13],
    [{ synthetic: "gap" }, 14],
    [assistant("x", "y"), 14],
    [tool("x"), 15],
    [gone, 15],
  ])
})

test("the real result of a call replaces the one that another process wrote for it", () => {
  const [unknown] = resultsForUnsettledCalls([assistant("x")])
  if (unknown === undefined) throw new Error("no result")
  const real = tool("x")
  const expected = [user("a"), assistant("x"), real, user("b")]
  expect(repairHistory([user("a"), assistant("x"), unknown, real, user("b")])).toEqual(expected)
  expect(repairHistory([user("a"), assistant("x"), real, unknown, user("b")])).toEqual(expected)
  expect(repairHistory([user("a"), assistant("x"), unknown, user("b"), real])).toEqual(expected)
})

test("calls without a result get one with status unknown, in call order", () => {
  const unknown = { tool_name: "t", role: "tool", content: expect.stringContaining('"status":"unknown"') }
  expect(resultsForUnsettledCalls([user("a"), assistant("x", "y", "z"), tool("y")])).toEqual([
    { ...unknown, tool_call_id: "x" },
    { ...unknown, tool_call_id: "z" },
  ])
  expect([resultsForUnsettledCalls([user("a"), assistant()]), resultsForUnsettledCalls([])]).toEqual([[], []])
  expect(repairHistory([assistant("x"), user("a")])).toEqual([
    assistant("x"),
    { ...unknown, tool_call_id: "x" },
    user("a"),
  ])
})

test("a repeated call is dropped", () => {
  const calls = [
    call("1", '{"p":1,"q":2}', "read_file"),
    call("2", '{"q": 2, "p": 1}', "read_file"),
    call("3", '{"p":2}', "read_file"),
    call("4", "broken", "read_file"),
  ]
  expect(withoutDuplicateCalls(calls).map(({ id }) => id)).toEqual(["1", "3", "4"])
})

test("a repaired message is the same object in every request, so that its cached bytes stay valid", () => {
  const history = [user("a"), note("b"), note("c"), assistant("x", "y"), tool("x"), user("d"), user("e")]
  const first = repairHistory(history)
  expect(first.length).toBeGreaterThan(history.length - 1)
  const second = repairHistory([...history, assistant()])
  for (const [index, message] of first.entries()) expect(second[index]).toBe(message)
})
