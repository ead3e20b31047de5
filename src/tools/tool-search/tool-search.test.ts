import { expect, test } from "vitest"

import { toolBench } from "../../../test/fixtures/tools/tool-bench.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { toolCall } from "./tool-call.ts"
import { toolDescribe } from "./tool-describe.ts"
import { createToolSearch } from "./tool-ranking.ts"
import { toolSearch } from "./tool-search.ts"

const SEND: ToolDefinition = {
  name: "send_message",
  description: `Send a message to a chat. ${"More about that. ".repeat(40)}`,
  parameters: {
    type: "object",
    properties: { target: { type: "string" }, text: { type: "string" }, silent: { type: "boolean" } },
    required: ["target", "text"],
  },
}
const LIST: ToolDefinition = {
  name: "list_chats",
  description: "What can be written to.",
  parameters: { type: "object", properties: {} },
}
const ports = { deferredTools: createToolSearch([LIST, SEND]) }

test("a search returns short descriptions with optional parameters marked", async () => {
  await using bench = await toolBench()
  expect(await bench.result(toolSearch, { query: "message" }, { ports })).toEqual({
    content: {
      query: "message",
      results: [
        {
          name: "send_message",
          description: `${SEND.description.slice(0, 237)}...`,
          parameters: "target, text, silent?",
        },
      ],
      total_tools: 2,
    },
    summary: "send_message",
  })
})

test("a search without results lists all names", async () => {
  await using bench = await toolBench()
  expect(await bench.result(toolSearch, { query: "zebra", limit: 3 }, { ports })).toEqual({
    content: { query: "zebra", results: [], total_tools: 2, names: ["list_chats", "send_message"] },
    summary: "nothing found",
  })
})

test("a description has the whole schema", async () => {
  await using bench = await toolBench()
  expect(await bench.result(toolDescribe, { name: " send_message " }, { ports })).toEqual({
    content: SEND,
    summary: "send_message",
  })
})

test.each([
  [
    "list_chat",
    "tool_search has no list_chat; call a tool that you already have directly, otherwise did you mean list_chats?",
  ],
  [
    "read_file",
    "tool_search has no read_file; call a tool that you already have directly, otherwise find its name with tool_search",
  ],
])("a tool that is not deferred returns a hint: %s", async (name, error) => {
  await using bench = await toolBench()
  expect(await bench.call(toolDescribe, { name }, { ports })).toEqual({ error })
})

test("without deferred tools both return an error", async () => {
  await using bench = await toolBench()
  const answers = [await bench.call(toolSearch, { query: "x" }), await bench.call(toolDescribe, { name: "x" })]
  expect(answers).toEqual([
    { error: "this session has no deferred tools" },
    { error: "this session has no deferred tools" },
  ])
})

test("a call needs a name, and the bridge cannot be called through itself", async () => {
  await using bench = await toolBench()
  expect(toolCall.runnable.parse({ arguments: {} })).toEqual({
    ok: false,
    error: "tool_call was not run: `name` is required.",
  })
  expect(await bench.call(toolCall, { name: "tool_call" })).toEqual({
    error: "tool_call cannot call itself; name another tool",
  })
})

test("old results leave one line", () => {
  const result = ""
  expect([
    toolSearch.runnable.digest?.({ tool: "tool_search", args: { query: "send a message" }, result }),
    toolDescribe.runnable.digest?.({ tool: "tool_describe", args: { name: "send_message" }, result }),
    toolDescribe.runnable.digest?.({ tool: "tool_describe", args: {}, result }),
  ]).toEqual(["[tool_search] send a message", "[tool_describe] send_message", "[tool_describe] ?"])
})
