import { describe, expect, test } from "vitest"

import { fc } from "../../test/support/property.ts"
import type { AssistantMessage, Message, ToolCall, ToolMessage } from "../protocol/message.ts"
import { createHistoryIds, withUniqueCallIds } from "./call-ids.ts"
import type { ModelReply } from "./model.ts"

function call(id: string, args = "{}"): ToolCall {
  return { id, type: "function", function: { name: "f", arguments: args } }
}

function assistant(...calls: readonly ToolCall[]): AssistantMessage {
  return { role: "assistant", content: null, tool_calls: calls }
}

function result(id: string, content = ""): ToolMessage {
  return { role: "tool", tool_call_id: id, tool_name: "f", content }
}

function replyWith(calls: readonly ToolCall[], carriers: ModelReply["carriers"] = {}): ModelReply {
  return { content: null, toolCalls: calls, finishReason: "tool_calls", reasoning: null, carriers, ending: "complete" }
}

describe("withUniqueCallIds", () => {
  const unique = (reply: ModelReply, history: readonly Message[] = [], random = () => 0.5) =>
    withUniqueCallIds(reply, { used: createHistoryIds()(history).used, random })

  test("leaves unique ids as they are", () => {
    const reply = replyWith([call("a"), call("b")])
    expect(unique(reply, [assistant(call("c"))])).toBe(reply)
  })

  test("gives calls without an id a random one", () => {
    expect(unique(replyWith([call("")])).toolCalls).toEqual([call("call_800000000000")])
    const values = [0.25, 0.75]
    const ids = unique(replyWith([call(""), call("")]), [], () => values.shift() ?? 0).toolCalls.map(({ id }) => id)
    expect(ids).toEqual(["call_400000000000", "call_c00000000000"])
  })

  test("renames ids that repeat in the reply or in the conversation", () => {
    const history = [assistant(call("call_0"), call("call_0_2")), result("call_0"), result("call_0_2")]
    expect(
      unique(replyWith([call("call_0"), call("call_0"), call("x")]), history).toolCalls.map(({ id }) => id),
    ).toEqual(["call_0_3", "call_0_4", "x"])
  })

  test("renames in everything that refers to the call", () => {
    const blocks = [
      { type: "tool_use", id: "a", name: "f" },
      { type: "thinking", thinking: "", signature: "s" },
      { type: "tool_use", id: "a", name: "f" },
    ]
    const responses: ToolCall = { ...call("a"), call_id: "a", response_item_id: "fc_a" }
    const { toolCalls, carriers } = unique(replyWith([call("a"), responses], { anthropic_content_blocks: blocks }))
    expect(toolCalls).toEqual([call("a"), { ...call("a_2"), call_id: "a_2", response_item_id: "fc_a" }])
    expect(carriers.anthropic_content_blocks).toEqual([
      blocks[0],
      blocks[1],
      { type: "tool_use", id: "a_2", name: "f" },
    ])
  })
})

describe("createHistoryIds", () => {
  test("a history with unique ids stays the same object", () => {
    const history: readonly Message[] = [{ role: "user", content: "x" }, assistant(call("a")), result("a")]
    expect(createHistoryIds()(history).messages).toBe(history)
  })

  test("results follow their renamed calls, also when a reply repeats an id", () => {
    const { messages: sent } = createHistoryIds()([
      assistant(call("a")),
      result("a", "1"),
      assistant(call("a"), call("b"), call("a")),
      result("a", "2"),
      result("b", "3"),
      result("a", "4"),
    ])
    expect(sent.map((message) => (message.role === "tool" ? [message.tool_call_id, message.content] : []))).toEqual([
      [],
      ["a", "1"],
      [],
      ["a_2", "2"],
      ["b", "3"],
      ["a_3", "4"],
    ])
  })

  test("ids are unique, results are paired, and a longer history begins with the same objects", () => {
    const round = fc.array(fc.constantFrom("a", "b", "a_2", ""), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(fc.array(round, { maxLength: 20 }), fc.nat(20), (rounds, length) => {
        const messagesOf = (ids: readonly string[]): readonly Message[] => [
          assistant(...ids.map((id) => call(id))),
          ...ids.map((id) => result(id)),
        ]
        const grouped = rounds.map(messagesOf)
        const rename = createHistoryIds()
        const { messages: prefix } = rename(grouped.slice(0, length).flat())
        const { messages: whole } = rename(grouped.flat())
        expect(whole.slice(0, prefix.length).every((message, index) => message === prefix[index])).toBe(true)
        const ids = whole.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []))
        expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length)
        expect(whole.flatMap((message) => (message.role === "tool" ? [message.tool_call_id] : []))).toEqual(
          ids.map(({ id }) => id),
        )
      }),
    )
  })
})
