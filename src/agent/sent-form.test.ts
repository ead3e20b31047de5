import { expect, test } from "vitest"

import { fc } from "../../test/support/property.ts"
import type { AssistantMessage, Message, ToolMessage } from "../protocol/message.ts"
import { toSentForm, sentForm } from "./sent-form.ts"

const CALL = { id: "a", type: "function", function: { name: "t", arguments: '{"long":"xxxx"}' } } as const
const THINKING: AssistantMessage = {
  role: "assistant",
  content: "hi",
  reasoning: "for display",
  reasoning_content: "hm",
  codex_reasoning_items: [{ type: "reasoning" }],
  tool_calls: [CALL],
}
const RESULT: ToolMessage = { role: "tool", tool_call_id: "a", tool_name: "t", content: "long result" }

test("a message without a different sent form is returned as the same object", () => {
  for (const message of [RESULT, THINKING, { role: "user", content: "hi" } as const]) {
    expect(toSentForm(message)).toBe(message)
  }
})

test.each<[string, Message, Message]>([
  ["a result", { ...RESULT, shown: { content: "short" } }, { ...RESULT, content: "short" }],
  [
    "shorter arguments",
    { ...THINKING, shown: { content: "hi", arguments: { a: '{"long":"x"}', unknown: "{}" } } },
    { ...THINKING, tool_calls: [{ ...CALL, function: { name: "t", arguments: '{"long":"x"}' } }] },
  ],
  [
    "dropped carriers; the displayed reasoning stays",
    { ...THINKING, shown: { content: "hi", reasoning: "dropped" } },
    { role: "assistant", content: "hi", reasoning: "for display", tool_calls: [CALL] },
  ],
  [
    "an id that every object has",
    { ...THINKING, tool_calls: [{ ...CALL, id: "constructor" }], shown: { arguments: {} } },
    { ...THINKING, tool_calls: [{ ...CALL, id: "constructor" }] },
  ],
])("%s is sent in its changed form", (_name, stored, sent) => {
  expect(toSentForm(stored)).toEqual(sent)
})

test("a message converts to its stored sent form and back", () => {
  const text = fc.string({ maxLength: 20 })
  const calls = fc.uniqueArray(
    fc.record({ id: fc.string({ minLength: 1, maxLength: 4 }), args: text, shorter: text }),
    { selector: ({ id }) => id, maxLength: 3 },
  )
  fc.assert(
    fc.property(text, text, calls, fc.boolean(), (before, after, made, dropped) => {
      const withCalls = (args: "args" | "shorter") =>
        made.map((call) => ({ id: call.id, type: "function" as const, function: { name: "t", arguments: call[args] } }))
      const stored: AssistantMessage = {
        role: "assistant",
        content: before,
        tool_calls: withCalls("args"),
        reasoning_content: "hm",
      }
      const { reasoning_content: _thoughts, ...bare } = stored
      const sent: AssistantMessage = {
        ...(dropped ? bare : stored),
        content: after,
        tool_calls: withCalls("shorter"),
      }
      expect(toSentForm({ ...stored, shown: sentForm(sent) })).toEqual(sent)
    }),
  )
})

test("the sent form of a result keeps images and text", () => {
  const parts = [{ type: "text", text: "short" }] as const
  expect(toSentForm({ ...RESULT, shown: sentForm({ ...RESULT, content: parts }) })).toEqual({
    ...RESULT,
    content: parts,
  })
})
