import { expect, test } from "vitest"
import type { Message } from "../protocol/message.ts"
import type { ModelRequest } from "./model.ts"
import {
  withoutEncryptedReasoning,
  withoutImages,
  withoutReasoning,
  withPlainSchemas,
  withToolImagesAfter,
} from "./request-relief.ts"

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

test("all carriers of thoughts go, the text and what people see stay", () => {
  expect(withoutReasoning(request(THINKING)).messages).toEqual([
    { role: "assistant", content: "a", reasoning: "for people" },
  ])
})

test("encrypted thoughts alone can go", () => {
  const { codex_reasoning_items: _dropped, ...rest } = THINKING
  expect(withoutEncryptedReasoning(request(THINKING)).messages).toEqual([rest])
})

test("images become a note, or follow after the results of tools", () => {
  const user: Message = { role: "user", content: [{ type: "text", text: "look" }, IMAGE] }
  const tool: Message = { role: "tool", tool_call_id: "c", tool_name: "t", content: [IMAGE] }
  const note = "[image left out: the model does not take it]"
  expect(withoutImages(request(user, tool)).messages).toMatchObject([{ content: `look\n${note}` }, { content: note }])
  expect(withToolImagesAfter(request(user, tool)).messages).toEqual([
    user,
    { ...tool, content: "[image: it follows after the results]" },
    { role: "user", content: [{ type: "text", text: "[From the result of t (c), not from the person:]" }, IMAGE] },
  ])
})

test("pattern and format go from schemas, but not properties of that name", () => {
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
  expect(withPlainSchemas({ ...request(), tools: [tool] }).tools[0]?.parameters).toEqual({
    type: "object",
    properties: { pattern: { type: "string" }, list: { type: "array", items: { type: "string" } } },
  })
})
