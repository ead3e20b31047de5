import { expect, test } from "vitest"
import type { Message } from "../protocol/message.ts"
import type { ModelRequest } from "./model.ts"
import { applyDowngrades } from "./request-downgrade.ts"

const IMAGE = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } } as const
const THINKING: Message = {
  role: "assistant",
  content: "a",
  reasoning: "for people",
  reasoning_content: "r",
  reasoning_details: [1],
  codex_reasoning_items: [2],
  codex_message_items: [3],
  anthropic_content_blocks: [4],
}

function request(...messages: Message[]): ModelRequest {
  return { model: "m", system: "", messages, tools: [] }
}

test("removes all reasoning carriers; text and displayed reasoning stay", () => {
  expect(applyDowngrades(request(THINKING), ["reasoning"]).messages).toEqual([
    { role: "assistant", content: "a", reasoning: "for people" },
  ])
})

test("removes only encrypted reasoning", () => {
  const { codex_reasoning_items: _dropped, ...rest } = THINKING
  expect(applyDowngrades(request(THINKING), ["encrypted-reasoning"]).messages).toEqual([rest])
})

test("replaces images with a note, or moves them after tool results", () => {
  const user: Message = { role: "user", content: [{ type: "text", text: "look" }, IMAGE] }
  const tool: Message = { role: "tool", tool_call_id: "c", tool_name: "t", content: [IMAGE] }
  const note = "[image left out: the model does not accept it]"
  expect(applyDowngrades(request(user, tool), ["images"]).messages).toMatchObject([
    { content: `look\n${note}` },
    { content: note },
  ])
  expect(applyDowngrades(request(user, tool), ["tool-images"]).messages).toEqual([
    user,
    { ...tool, content: "[image: it follows after the results]" },
    { role: "user", content: [{ type: "text", text: "[From the result of t (c), not from the user:]" }, IMAGE] },
  ])
})

test("disables thinking while a tool loop is open, and only then", () => {
  const user: Message = { role: "user", content: "go" }
  const calls: Message = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", type: "function", function: { name: "t", arguments: "{}" } }],
  }
  const result: Message = { role: "tool", tool_call_id: "c", tool_name: "t", content: "" }
  const effortOf = (...messages: Message[]) =>
    applyDowngrades({ ...request(...messages), effort: "high" }, ["thinking-in-tool-loops"]).effort
  expect([effortOf(user), effortOf(user, calls, result)]).toEqual(["high", "none"])
  expect(effortOf(user, calls, result, { role: "assistant", content: "done" }, user)).toBe("high")
})

test("removes pattern and format from schemas, but keeps properties of that name", () => {
  const tool = {
    name: "t",
    description: "",
    parameters: {
      type: "object",
      properties: {
        pattern: { type: "string", pattern: "^a$", format: "regex" },
        list: { type: "array", items: { type: "string", format: "uri" } },
      },
    },
  }
  expect(applyDowngrades({ ...request(), tools: [tool] }, ["schema-patterns"]).tools[0]?.parameters).toEqual({
    type: "object",
    properties: { pattern: { type: "string" }, list: { type: "array", items: { type: "string" } } },
  })
})

test("a changed message is the same object in every request, so that its cached bytes stay valid", () => {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } } as const
  const messages: readonly Message[] = [
    { role: "user", content: [image] },
    { role: "assistant", content: "a", reasoning_content: "b", codex_reasoning_items: [{}] },
    { role: "tool", tool_call_id: "c", tool_name: "f", content: [image] },
  ]
  const request: ModelRequest = { model: "m", system: "", messages, tools: [] }
  for (const downgrade of ["reasoning", "encrypted-reasoning", "images", "tool-images"] as const) {
    const [first, second] = [applyDowngrades(request, [downgrade]), applyDowngrades({ ...request }, [downgrade])]
    for (const [index, message] of first.messages.entries()) expect(second.messages[index]).toBe(message)
  }
})
