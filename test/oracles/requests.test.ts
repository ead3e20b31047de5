import type Anthropic from "@anthropic-ai/sdk"
import type OpenAI from "openai"
import { describe, expect, test } from "vitest"

import { bodyText } from "../support/body-text.ts"
import type { ModelRequest } from "../../src/llm/model.ts"
import { createAnthropicMessagesWire } from "../../src/llm/wire/anthropic-messages/wire.ts"
import { createChatCompletionsWire } from "../../src/llm/wire/chat-completions/wire.ts"
import { createCodexResponsesWire } from "../../src/llm/wire/codex-responses/wire.ts"
import type { Message } from "../../src/protocol/message.ts"
import type { ModelServer } from "../support/model-server/server.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { says } from "../support/model-server/turn.ts"
import { anthropicClient, openAiClient } from "./official-clients.ts"

/**
 * Compares our requests with the official clients. The compiler checks a literal body against the vendor's types, one test
 * checks that we encode exactly that body, and another that the client sends our body to the same path with the same bytes.
 */

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const IMAGE = `data:image/png;base64,${PIXEL}`

const PARAMETERS = {
  type: "object",
  properties: { path: { type: "string", description: "File to read." } },
  required: ["path"],
  additionalProperties: false,
} as const

const READ_FILE = { name: "read_file", description: "Reads a file.", parameters: PARAMETERS }

/** Text, an image, two parallel calls after reasoning, a text result and a result with an image. */
const HISTORY: readonly Message[] = [
  { role: "user", content: "Hello." },
  { role: "assistant", content: "Hi." },
  {
    role: "user",
    content: [
      { type: "text", text: "Compare this with the files." },
      { type: "image_url", image_url: { url: IMAGE, detail: "high" } },
    ],
    injected: "Today is Sunday.",
  },
  {
    role: "assistant",
    content: "Reading both.",
    tool_calls: [
      { id: "call_a", type: "function", function: { name: "read_file", arguments: '{"path":"a.txt"}' } },
      { id: "call_b", type: "function", function: { name: "read_file", arguments: '{"path":"b.png"}' } },
    ],
    reasoning: "Two files.",
    reasoning_details: [{ type: "thinking", thinking: "Two files.", signature: "signed" }],
    codex_reasoning_items: [
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "Two files." }],
        encrypted_content: "signed",
      },
    ],
    codex_message_items: [
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        phase: "commentary",
        content: [{ type: "output_text", text: "Reading both.", annotations: [], logprobs: [] }],
      },
    ],
  },
  { role: "tool", tool_call_id: "call_a", tool_name: "read_file", content: "alpha" },
  {
    role: "tool",
    tool_call_id: "call_b",
    tool_name: "read_file",
    content: [
      { type: "text", text: "b.png, 1 × 1" },
      { type: "image_url", image_url: { url: IMAGE } },
    ],
  },
]

function modelRequest(model: string, options: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model,
    system: "Be brief.",
    messages: HISTORY,
    tools: [READ_FILE],
    maxOutputTokens: 900,
    effort: "high",
    conversationId: "conversation-1",
    ...options,
  }
}

const OPENAI = {
  provider: "openai",
  baseUrl: "https://api.openai.com/v1",
  host: "api.openai.com",
  contextLength: 400_000,
}

const ANTHROPIC = {
  provider: "anthropic",
  baseUrl: "https://api.anthropic.com",
  host: "api.anthropic.com",
  contextLength: 200_000,
}

describe("Chat Completions", () => {
  const wire = createChatCompletionsWire(OPENAI, {})

  test("the body matches the client's types", () => {
    const literal = {
      model: "gpt-5.4",
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 900,
      reasoning_effort: "high",
      tools: [
        { type: "function", function: { name: "read_file", description: "Reads a file.", parameters: PARAMETERS } },
      ],
      messages: [
        // The role is `developer` for the GPT-5 family and `system` for other models.
        { role: "developer", content: "Be brief." },
        { role: "user", content: "Hello." },
        { role: "assistant", content: "Hi." },
        {
          role: "user",
          content: [
            { type: "text", text: "Compare this with the files." },
            { type: "image_url", image_url: { url: IMAGE, detail: "high" } },
            { type: "text", text: "Today is Sunday." },
          ],
        },
        {
          role: "assistant",
          content: "Reading both.",
          tool_calls: [
            { id: "call_a", type: "function", function: { name: "read_file", arguments: '{"path":"a.txt"}' } },
            { id: "call_b", type: "function", function: { name: "read_file", arguments: '{"path":"b.png"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_a", content: "alpha" },
        // The types of this format have no image part in a tool result.
        { role: "tool", tool_call_id: "call_b", content: "b.png, 1 × 1\n[image not sent to this model]" },
      ],
    } satisfies OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming
    expect(JSON.parse(bodyText(wire.encode(modelRequest("gpt-5.4"))))).toEqual(literal)
  })

  test.each(["required", "none"] as const)("tool choice %s is sent as the vendor's value", (toolChoice) => {
    const body = JSON.parse(bodyText(wire.encode(modelRequest("gpt-4.1", { toolChoice }))))
    expect(body).toMatchObject({
      tool_choice: toolChoice,
      messages: [{ role: "system", content: "Be brief." }, {}, {}, {}, {}, {}, {}],
    } satisfies Pick<OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming, "tool_choice"> & { messages: object })
  })

  test("fields of other vendors are sent only to those vendors", () => {
    const deepSeek = createChatCompletionsWire(
      { provider: "deepseek", baseUrl: "https://api.deepseek.com", host: "api.deepseek.com", contextLength: 128_000 },
      {},
    )
    const extensions = ["thinking", "reasoning_content"]
    expect(extensions.filter((field) => bodyText(wire.encode(modelRequest("gpt-5.4"))).includes(`"${field}"`))).toEqual(
      [],
    )
    expect(
      extensions.filter((field) => bodyText(deepSeek.encode(modelRequest("deepseek-reasoner"))).includes(`"${field}"`)),
    ).toEqual(extensions)
  })

  test("the client sends the same bytes to the same path", async () => {
    await using server = await startModelServer([says("Different.")])
    const request = modelRequest("gpt-5.4")
    const body = bodyText(wire.encode(request))
    const stream = await openAiClient(server).chat.completions.create(
      JSON.parse(body) as OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming,
    )
    let text = ""
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ""
    expect(text).toBe("Different.")
    expectSame(server, { body, path: `/v1${wire.path(request)}` })
  })
})

describe("Responses", () => {
  const wire = createCodexResponsesWire(OPENAI)

  test("the body matches the client's types", () => {
    const literal = {
      model: "gpt-5.4",
      stream: true,
      store: false,
      instructions: "Be brief.",
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      max_output_tokens: 900,
      prompt_cache_key: "conversation-1",
      tools: [
        { type: "function", name: "read_file", description: "Reads a file.", parameters: PARAMETERS, strict: false },
      ],
      tool_choice: "auto",
      parallel_tool_calls: true,
      input: [
        { role: "user", content: [{ type: "input_text", text: "Hello." }] },
        // A reply from another wire format has no item id.
        withoutId<OpenAI.Responses.ResponseOutputMessage>({
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Hi.", annotations: [] }],
        }),
        {
          role: "user",
          content: [
            { type: "input_text", text: "Compare this with the files." },
            { type: "input_image", image_url: IMAGE, detail: "high" },
            { type: "input_text", text: "Today is Sunday." },
          ],
        },
        // With `store: false` the server does not store reasoning items, so the request has their encrypted content and no id.
        withoutId<OpenAI.Responses.ResponseReasoningItem>({
          type: "reasoning",
          summary: [{ type: "summary_text", text: "Two files." }],
          encrypted_content: "signed",
        }),
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          phase: "commentary",
          content: [{ type: "output_text", text: "Reading both.", annotations: [] }],
        },
        { type: "function_call", call_id: "call_a", name: "read_file", arguments: '{"path":"a.txt"}' },
        { type: "function_call", call_id: "call_b", name: "read_file", arguments: '{"path":"b.png"}' },
        { type: "function_call_output", call_id: "call_a", output: "alpha" },
        {
          type: "function_call_output",
          call_id: "call_b",
          output: [
            { type: "input_text", text: "b.png, 1 × 1" },
            { type: "input_image", image_url: IMAGE, detail: "auto" },
          ],
        },
      ],
    } satisfies OpenAI.Responses.ResponseCreateParamsStreaming
    expect(JSON.parse(bodyText(wire.encode(modelRequest("gpt-5.4"))))).toEqual(literal)
  })

  test.each(["required", "none"] as const)("tool choice %s is sent as the vendor's value", (toolChoice) => {
    expect(JSON.parse(bodyText(wire.encode(modelRequest("gpt-5.4", { toolChoice }))))).toMatchObject({
      tool_choice: toolChoice,
    } satisfies Pick<OpenAI.Responses.ResponseCreateParamsStreaming, "tool_choice">)
  })

  test("the client sends the same bytes to the same path", async () => {
    await using server = await startModelServer([says("Different.")])
    const request = modelRequest("gpt-5.4")
    const body = bodyText(wire.encode(request))
    const stream = await openAiClient(server).responses.create(
      JSON.parse(body) as OpenAI.Responses.ResponseCreateParamsStreaming,
    )
    let text = ""
    for await (const event of stream) text += event.type === "response.output_text.delta" ? event.delta : ""
    expect(text).toBe("Different.")
    expectSame(server, { body, path: `/v1${wire.path(request)}` })
  })
})

describe("Anthropic Messages", () => {
  const wire = createAnthropicMessagesWire(ANTHROPIC, {})
  const model = "claude-sonnet-4-6"

  test("the body matches the client's types", () => {
    const marker = { type: "ephemeral", ttl: "1h" } as const
    const literal = {
      model,
      max_tokens: 900,
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "high" },
      stream: true,
      tool_choice: { type: "auto" },
      tools: [{ name: "read_file", description: "Reads a file.", input_schema: mutable(PARAMETERS) }],
      system: [{ type: "text", text: "Be brief.", cache_control: marker }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Hello." }] },
        { role: "assistant", content: [{ type: "text", text: "Hi." }] },
        {
          role: "user",
          content: [
            { type: "text", text: "Compare this with the files." },
            { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
            { type: "text", text: "Today is Sunday." },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Two files.", signature: "signed" },
            { type: "text", text: "Reading both." },
            { type: "tool_use", id: "call_a", name: "read_file", input: { path: "a.txt" } },
            { type: "tool_use", id: "call_b", name: "read_file", input: { path: "b.png" }, cache_control: marker },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "call_a", content: "alpha", cache_control: marker },
            {
              type: "tool_result",
              tool_use_id: "call_b",
              content: [
                { type: "text", text: "b.png, 1 × 1" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
              ],
              cache_control: marker,
            },
          ],
        },
      ],
    } satisfies Anthropic.Messages.MessageCreateParamsStreaming
    expect(JSON.parse(bodyText(wire.encode(modelRequest(model, { cacheTtl: "1h" }))))).toEqual(literal)
  })

  test.each([
    { toolChoice: "required", type: "any" },
    { toolChoice: "none", type: "none" },
  ] as const)("tool choice $toolChoice is sent as the vendor's value", ({ toolChoice, type }) => {
    expect(JSON.parse(bodyText(wire.encode(modelRequest(model, { toolChoice }))))).toMatchObject({
      tool_choice: { type },
    } satisfies Pick<Anthropic.Messages.MessageCreateParamsStreaming, "tool_choice">)
  })

  /**
   * The client uses API version 2026-10-21, which has no temperature. Our wire uses the previous version, because many servers
   * support only that one. There the older models accept a temperature.
   */
  test("a temperature is sent only to the older models, with the older API version", () => {
    const older = modelRequest("claude-sonnet-4-5", { effort: "low", messages: HISTORY.slice(0, 1), tools: [] })
    expect(JSON.parse(bodyText(wire.encode(older)))).toEqual({
      model: "claude-sonnet-4-5",
      max_tokens: 8096,
      thinking: { type: "enabled", budget_tokens: 4000 },
      temperature: 1,
      stream: true,
      system: "Be brief.",
      messages: [{ role: "user", content: [{ type: "text", text: "Hello." }] }],
    } satisfies Anthropic.Messages.MessageCreateParamsStreaming & { temperature: number })
    expect(wire.headers(older)).toMatchObject({ "anthropic-version": "2023-06-01" })
    const newer = bodyText(wire.encode(modelRequest("claude-opus-4-8", { temperature: 0.2 })))
    expect(JSON.parse(newer)).not.toHaveProperty("temperature")
  })

  test("the client sends the same bytes to the same path", async () => {
    await using server = await startModelServer([says("Different.")])
    const request = modelRequest(model, { cacheTtl: "5m" })
    const body = bodyText(wire.encode(request))
    const stream = await anthropicClient(server).messages.create(
      JSON.parse(body) as Anthropic.Messages.MessageCreateParamsStreaming,
    )
    let text = ""
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text
    }
    expect(text).toBe("Different.")
    expectSame(server, { body, path: wire.path(request) })
  })
})

/** The types of Responses require an id, but the API accepts items without one. */
function withoutId<T extends { readonly id: string }>(item: Omit<T, "id">): T {
  return item as T
}

/** The vendor's types require a mutable array. */
function mutable<T extends { readonly required: readonly string[] }>(
  schema: T,
): Omit<T, "required"> & { required: string[] } {
  return { ...schema, required: [...schema.required] }
}

function expectSame(server: ModelServer, { body, path }: { readonly body: string; readonly path: string }): void {
  const [request] = server.requests
  expect(request?.rawBody).toBe(body)
  expect(request?.path).toBe(path)
  expect(server.view(0).messages.map(({ role, calls, results }) => [role, calls.length, results.length])).toEqual([
    ["user", 0, 0],
    ["assistant", 0, 0],
    ["user", 0, 0],
    ["assistant", 2, 0],
    ["user", 0, 2],
  ])
}
