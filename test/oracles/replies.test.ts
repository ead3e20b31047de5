import type Anthropic from "@anthropic-ai/sdk"
import type OpenAI from "openai"
import { expect, test } from "vitest"

import type { DecodeResult } from "../../src/llm/wire/wire.ts"
import { createAnthropicMessagesWire } from "../../src/llm/wire/anthropic-messages/wire.ts"
import { createChatCompletionsWire } from "../../src/llm/wire/chat-completions/wire.ts"
import { createCodexResponsesWire } from "../../src/llm/wire/codex-responses/wire.ts"

/** Decodes replies that match the vendors' types. */

const CALL = { id: "call_a", type: "function", function: { name: "read_file", arguments: '{"path":"a.txt"}' } } as const

const USAGE = { input: 200, output: 50, cacheRead: 800, cacheWrite: 100, reasoning: 30 }

const OPENAI = { provider: "openai", baseUrl: "https://api.openai.com/v1", host: "api.openai.com", contextLength: 0 }

test("Chat Completions", () => {
  const reply = {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_750_000_000,
    model: "gpt-4.1",
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        logprobs: null,
        message: { role: "assistant", content: "Reading.", refusal: null, tool_calls: [CALL] },
      },
    ],
    usage: {
      prompt_tokens: 1100,
      completion_tokens: 50,
      total_tokens: 1150,
      prompt_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 30 },
    },
  } satisfies OpenAI.Chat.ChatCompletion
  expect(createChatCompletionsWire(OPENAI, {}).decodeComplete(JSON.stringify(reply))).toEqual({
    kind: "reply",
    reply: {
      content: "Reading.",
      toolCalls: [CALL],
      finishReason: "tool_calls",
      reasoning: null,
      usage: USAGE,
      carriers: {},
      ending: "complete",
    },
  } satisfies DecodeResult)
})

test("Responses", () => {
  const output: OpenAI.Responses.ResponseOutputItem[] = [
    {
      id: "rs_1",
      type: "reasoning",
      encrypted_content: "signed",
      summary: [{ type: "summary_text", text: "One file." }],
    },
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      phase: "commentary",
      content: [{ type: "output_text", annotations: [], text: "Reading." }],
    },
    {
      id: "fc_1",
      type: "function_call",
      status: "completed",
      call_id: "call_a",
      name: "read_file",
      arguments: '{"path":"a.txt"}',
    },
  ]
  const usage: OpenAI.Responses.ResponseUsage = {
    input_tokens: 1100,
    input_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 30 },
    total_tokens: 1150,
  }
  const reply = { id: "resp_1", object: "response", status: "completed", error: null, output, usage } as const
  expect(createCodexResponsesWire(OPENAI).decodeComplete(JSON.stringify(reply))).toMatchObject({
    kind: "reply",
    reply: {
      content: "Reading.",
      toolCalls: [CALL],
      finishReason: "tool_calls",
      reasoning: "One file.",
      usage: USAGE,
      carriers: {
        codex_reasoning_items: [{ type: "reasoning", encrypted_content: "signed" }],
        codex_message_items: [{ type: "message", id: "msg_1", phase: "commentary" }],
      },
      ending: "complete",
    },
  })
})

test("Anthropic Messages", () => {
  const endpoint = { provider: "anthropic", baseUrl: "https://api.anthropic.com", host: "api.anthropic.com" }
  const reply = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-6",
    container: null,
    diagnostics: null,
    content: [
      { type: "thinking", thinking: "One file.", signature: "signed" },
      { type: "text", citations: null, text: "Reading." },
      { type: "tool_use", id: "call_a", caller: { type: "direct" }, name: "read_file", input: { path: "a.txt" } },
    ],
    stop_reason: "tool_use",
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 200,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 800,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 0 },
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 30 },
      server_tool_use: null,
      service_tier: "standard",
      inference_geo: null,
      speed: null,
    },
  } satisfies Anthropic.Message
  const wire = createAnthropicMessagesWire({ ...endpoint, contextLength: 200_000 }, {})
  expect(wire.decodeComplete(JSON.stringify(reply))).toEqual({
    kind: "reply",
    reply: {
      content: "Reading.",
      toolCalls: [CALL],
      finishReason: "tool_calls",
      reasoning: "One file.",
      usage: USAGE,
      carriers: { reasoning_details: [{ type: "thinking", thinking: "One file.", signature: "signed" }] },
      ending: "complete",
    },
  } satisfies DecodeResult)
})
