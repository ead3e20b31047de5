import { describe, expect, test } from "vitest"

import { bodyText } from "../../../../test/support/body-text.ts"
import type { AssistantMessage, Message } from "../../../protocol/message.ts"
import type { ModelRequest } from "../../model.ts"
import { createChatCompletionsWire } from "./wire.ts"
import type { ChatCompletionsOptions } from "./wire.ts"
import type { WireEndpoint } from "../wire.ts"

const OPENROUTER = endpoint("openrouter", "https://openrouter.ai/api/v1")
const NOUS = endpoint("nous", "https://inference-api.nousresearch.com/v1")
const DEEPSEEK = endpoint("deepseek", "https://api.deepseek.com/v1")
const KIMI = endpoint("kimi-coding", "https://api.moonshot.ai/v1")
const QWEN = endpoint("qwen-oauth", "https://portal.qwen.ai/v1")
const OPENAI = endpoint("openai-api", "https://api.openai.com/v1")
const OLLAMA = endpoint("custom", "http://127.0.0.1:11434/v1")
const VLLM = endpoint("custom:lab", "http://127.0.0.1:8000/v1")
const OTHER = endpoint("zai", "https://api.z.ai/api/paas/v4")

/** The body without `stream` and messages, which are the same at every endpoint. */
function extras(at: WireEndpoint, parts: Partial<ModelRequest>, options: ChatCompletionsOptions = {}): unknown {
  const {
    model: _model,
    stream: _stream,
    stream_options: _options,
    messages: _messages,
    ...rest
  } = body(at, parts, options)
  return rest
}

describe("thinking", () => {
  test.each<[string, WireEndpoint, Partial<ModelRequest>, object]>([
    [
      "always",
      OPENROUTER,
      { model: "anthropic/claude-opus-4.6", effort: "high" },
      { verbosity: "high", max_tokens: 128_000 },
    ],
    [
      "always, minimal",
      OPENROUTER,
      { model: "anthropic/claude-opus-5", effort: "minimal" },
      { verbosity: "low", max_tokens: 128_000 },
    ],
    ["always, effort not set", OPENROUTER, { model: "anthropic/claude-sonnet-4.6" }, { max_tokens: 64_000 }],
    [
      "a date is not a version",
      OPENROUTER,
      { model: "anthropic/claude-sonnet-4-20250514", effort: "low" },
      { reasoning: { enabled: true, effort: "low" }, max_tokens: 64_000 },
    ],
    ["by default", OPENROUTER, { model: "deepseek/deepseek-v3.2" }, { reasoning: { enabled: true, effort: "medium" } }],
    ["off", OPENROUTER, { model: "x-ai/grok-4", effort: "none" }, { reasoning: { enabled: false } }],
    ["unknown family", OPENROUTER, { model: "meta/llama-4", effort: "high" }, {}],
    [
      "by default",
      NOUS,
      { model: "Hermes-4" },
      { tags: ["product=hermes-agent"], reasoning: { enabled: true, effort: "medium" } },
    ],
    ["off", NOUS, { model: "Hermes-4", effort: "none" }, { tags: ["product=hermes-agent"] }],
    ["effort not set", DEEPSEEK, {}, {}],
    ["off", DEEPSEEK, { effort: "none" }, { thinking: { type: "disabled" } }],
    ["high", DEEPSEEK, { effort: "high" }, { thinking: { type: "enabled" }, reasoning_effort: "high" }],
    ["highest", DEEPSEEK, { effort: "xhigh" }, { thinking: { type: "enabled" }, reasoning_effort: "max" }],
    ["effort not set", KIMI, {}, {}],
    ["off", KIMI, { effort: "none" }, { thinking: { type: "disabled" } }],
    ["highest", KIMI, { effort: "xhigh" }, { reasoning_effort: "high" }],
    ["low", OPENAI, { model: "o3-mini", effort: "minimal" }, { reasoning_effort: "low" }],
    ["not this model", OPENAI, { model: "gpt-4.1", effort: "low" }, {}],
    ["off", OLLAMA, { effort: "none" }, { options: { num_ctx: 200_000 }, think: false }],
    ["off", VLLM, { effort: "none" }, { think: false }],
    ["unknown provider", OTHER, { effort: "high" }, {}],
  ])("%s at $provider: %j", (_name, at, parts, expected) => {
    expect(extras(at, parts)).toEqual(expected)
  })
})

test.each<[WireEndpoint, Partial<ModelRequest>, number | undefined]>([
  [OTHER, { temperature: 0.2 }, 0.2],
  [OTHER, { temperature: 0 }, 0],
  [OTHER, {}, undefined],
  [KIMI, { temperature: 0.2 }, undefined],
  [OPENROUTER, { model: "moonshotai/kimi-k2", temperature: 0.2 }, undefined],
  [OPENROUTER, { model: "arcee/trinity-large-thinking", temperature: 0.2 }, 0.5],
  [OPENROUTER, { model: "arcee/trinity-large-thinking" }, 0.5],
])("temperature at $provider of %j is %s", (at, parts, expected) => {
  expect(body(at, parts)["temperature"]).toBe(expected)
})

test.each<[Partial<ModelRequest>, ChatCompletionsOptions, object]>([
  [{ maxOutputTokens: 5 }, { maxTokensDefault: 100 }, { max_tokens: 5 }],
  [{}, { maxTokensDefault: 100 }, { max_tokens: 100 }],
  [{}, { maxTokensDefault: 250_000 }, { max_tokens: 100_000 }],
  [{}, {}, {}],
])("the output limit of %j with %j is %j", (parts, options, expected) => {
  expect(extras(OTHER, parts, options)).toEqual(expected)
})

describe("settings", () => {
  test("can disable streaming and stream usage", () => {
    expect(body(OTHER, {}, { includeUsage: false })).toEqual({ model: "m", stream: true, messages: [] })
    expect(body(OTHER, {}, { streaming: false })).toEqual({ model: "m", stream: false, messages: [] })
  })

  test("override body fields, but not the conversation", () => {
    const extraBody = { temperature: 1, top_p: 0.5, messages: ["no"], tools: ["no"] }
    expect(extras(OTHER, { temperature: 0 }, { extraBody })).toEqual({ temperature: 1, top_p: 0.5 })
  })

  test("configure OpenRouter's routing, score and response cache", () => {
    const openRouter = { routing: { sort: "price" }, minCodingScore: 0.7, responseCacheTtl: 300 }
    expect(extras(OPENROUTER, { model: "openrouter/pareto-code" }, { openRouter })).toEqual({
      provider: { sort: "price" },
      plugins: [{ id: "pareto-router", min_coding_score: 0.7 }],
    })
    expect(extras(OPENROUTER, { model: "meta/llama-4" }, { openRouter: { routing: {}, minCodingScore: 0.7 } })).toEqual(
      {},
    )
    expect(headers(OPENROUTER, { model: "meta/llama-4" }, { openRouter })).toEqual({
      "x-openrouter-cache": "true",
      "x-openrouter-cache-ttl": "300",
    })
  })
})

describe("headers", () => {
  test("Claude at OpenRouter requests fine-grained tool streaming", () => {
    expect(headers(OPENROUTER, { model: "anthropic/claude-sonnet-4.6" })).toEqual({
      "x-anthropic-beta": "fine-grained-tool-streaming-2025-05-14",
    })
  })

  test("Copilot receives the initiator", () => {
    const copilot = endpoint("copilot", "https://api.githubcopilot.com")
    const question: Message = { role: "user", content: "hi" }
    const result: Message = { role: "tool", content: "x", tool_call_id: "A", tool_name: "f" }
    const initiator = (messages: Message[]) => headers(copilot, { messages })["x-initiator"]
    expect([initiator([question]), initiator([question, result])]).toEqual(["user", "agent"])
    expect(body(copilot, { maxOutputTokens: 9 })["max_completion_tokens"]).toBe(9)
  })

  test("other endpoints receive none", () => {
    expect(headers(OTHER, {})).toEqual({})
  })
})

describe("tools", () => {
  const tools = [{ name: "f", description: "Does f.", parameters: { type: "object", properties: { a: {} } } }]

  test.each<[ModelRequest["toolChoice"], string | undefined]>([
    [undefined, undefined],
    ["auto", undefined],
    ["required", "required"],
    ["none", "none"],
  ])("the tool choice %s is sent as %s", (toolChoice, expected) => {
    const choice = toolChoice === undefined ? {} : { toolChoice }
    expect(body(OTHER, { tools, ...choice })["tool_choice"]).toBe(expected)
    expect(body(OTHER, choice)["tool_choice"]).toBeUndefined()
  })

  test("Moonshot's models get their schema dialect, others the common one", () => {
    const wire = createChatCompletionsWire(OPENROUTER, {})
    const schema = (model: string) => {
      const sent = JSON.parse(bodyText(wire.encode(request({ model, tools })))) as {
        tools: { function: { parameters: unknown } }[]
      }
      return sent.tools[0]?.function.parameters
    }
    expect(schema("moonshotai/kimi-k2")).toEqual({ type: "object", properties: { a: { type: "string" } } })
    expect(schema("meta/llama-4")).toEqual({ type: "object", properties: { a: {} } })
  })
})

describe("reasoning of earlier replies", () => {
  const reply: AssistantMessage = {
    role: "assistant",
    content: "hi",
    reasoning: "display text",
    reasoning_content: "hm",
    reasoning_details: [{ type: "reasoning.encrypted", data: "x" }],
  }
  const { reasoning_content: _content, reasoning_details: _details, ...withoutReasoning } = reply

  test.each<[string, WireEndpoint, string, AssistantMessage, object]>([
    ["stored", DEEPSEEK, "deepseek-chat", reply, { reasoning_content: "hm" }],
    ["from another server", DEEPSEEK, "deepseek-chat", withoutReasoning, { reasoning_content: " " }],
    ["empty", KIMI, "kimi-k2", { ...reply, reasoning_content: "" }, { reasoning_content: " " }],
    ["by host", endpoint("custom", "https://api.xiaomimimo.com/v1"), "m", reply, { reasoning_content: "hm" }],
    ["by family", VLLM, "deepseek-ai/DeepSeek-V3", reply, { reasoning_content: "hm" }],
    ["not required", OTHER, "glm-4.6", reply, {}],
    ["opaque", OPENROUTER, "x-ai/grok-4", reply, { reasoning_details: reply.reasoning_details }],
    ["opaque, none", NOUS, "Hermes-4", withoutReasoning, {}],
    [
      "opaque, of other wire formats",
      OPENROUTER,
      "anthropic/claude-opus-4.6",
      {
        ...reply,
        reasoning_details: [
          { type: "thinking", thinking: "t", signature: "of Anthropic" },
          { type: "redacted_thinking", data: "x" },
          { type: "bedrock.reasoning", reasoningContent: {} },
        ],
      },
      {},
    ],
  ])("%s", (_name, at, model, message, expected) => {
    expect(body(at, { model, messages: [message] })["messages"]).toEqual([
      { role: "assistant", content: "hi", ...expected },
    ])
  })

  test("after a model switch the messages use the new model's format", () => {
    const wire = createChatCompletionsWire(VLLM, {})
    const sent = (model: string) => bodyText(wire.encode(request({ model, messages: [reply] })))
    expect(sent("deepseek-v3")).toContain("reasoning_content")
    expect(sent("llama-4")).not.toContain("reasoning_content")
    expect(sent("deepseek-v3")).toContain("reasoning_content")
  })
})

test("a gateway accepts images in tool results", () => {
  const content = [
    { type: "text", text: "a picture" },
    { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
  ] as const
  const messages: Message[] = [{ role: "tool", content, tool_call_id: "A", tool_name: "f" }]
  expect(body(OPENROUTER, { messages })["messages"]).toEqual([{ role: "tool", tool_call_id: "A", content }])
})

test("the Qwen portal gets part lists and a cache marker on the system prompt", () => {
  const messages: Message[] = [
    { role: "user", content: "hi" },
    { role: "assistant", content: null, tool_calls: [] },
  ]
  expect(body(QWEN, { system: "Be brief.", messages })).toMatchObject({
    vl_high_resolution_images: true,
    messages: [
      { role: "system", content: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: null },
    ],
  })
})

describe("cache markers", () => {
  const CLAUDE = { model: "anthropic/claude-sonnet-4.6", cacheTtl: "5m" } as const
  const talk = (count: number): Message[] =>
    Array.from({ length: count }, (_, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content: `${index}` }))
  const marked = (parts: Partial<ModelRequest>, at = OPENROUTER): boolean[] => {
    const sent = body(at, parts)["messages"]
    return Array.isArray(sent) ? sent.map((message) => JSON.stringify(message).includes("cache_control")) : []
  }

  test.each<[string, Partial<ModelRequest>, boolean[]]>([
    ["system and three", { system: "s", messages: talk(3) }, [true, true, true, true]],
    ["system and ten", { system: "s", messages: talk(10) }, [true, ...Array<boolean>(7).fill(false), true, true, true]],
    ["six without system", { messages: talk(6) }, [false, false, true, true, true, true]],
    ["nothing", {}, []],
    [
      "a tool result uses up a marker",
      { messages: [...talk(4), { role: "tool", content: "x", tool_call_id: "A", tool_name: "f" }] },
      [false, true, true, true, false],
    ],
  ])("%s", (_name, parts, expected) => {
    expect(marked({ ...CLAUDE, ...parts })).toEqual(expected)
  })

  test("are on the last part, or on the message if it has no parts", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } } as const
    const messages: Message[] = [
      { role: "user", content: "text" },
      { role: "user", content: [{ type: "text", text: "look" }, image] },
      { role: "assistant", content: null },
    ]
    const cache_control = { type: "ephemeral", ttl: "1h" }
    expect(body(OPENROUTER, { ...CLAUDE, cacheTtl: "1h", messages })["messages"]).toEqual([
      { role: "user", content: [{ type: "text", text: "text", cache_control }] },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { ...image, cache_control },
        ],
      },
      { role: "assistant", content: null, cache_control },
    ])
  })

  test.each<[WireEndpoint, string, boolean]>([
    [OPENROUTER, "anthropic/claude-sonnet-4.6", true],
    [NOUS, "claude-sonnet-4.6", true],
    [NOUS, "qwen3", true],
    [OPENROUTER, "qwen/qwen3", false],
    [endpoint("alibaba", "https://dashscope.example/v1"), "qwen3", true],
    [endpoint("opencode-zen", "https://opencode.ai/zen/v1"), "qwen3", true],
    [OTHER, "claude-sonnet-4.6", false],
    [OPENROUTER, "meta/llama-4", false],
  ])("$provider with %s: %s", (at, model, expected) => {
    expect(marked({ model, cacheTtl: "5m", messages: talk(1) }, at)).toEqual([expected])
    expect(marked({ model, messages: talk(1) }, at)).toEqual([false])
  })

  test("do not persist in the next request", () => {
    const wire = createChatCompletionsWire(OPENROUTER, {})
    const messages = talk(8)
    bodyText(wire.encode(request({ ...CLAUDE, messages: messages.slice(0, 4) })))
    const fresh = createChatCompletionsWire(OPENROUTER, {})
    expect(bodyText(wire.encode(request({ ...CLAUDE, messages })))).toBe(
      bodyText(fresh.encode(request({ ...CLAUDE, messages }))),
    )
  })
})

function endpoint(provider: string, baseUrl: string): WireEndpoint {
  return { provider, baseUrl, host: new URL(baseUrl).hostname, contextLength: 200_000 }
}

function request(parts: Partial<ModelRequest>): ModelRequest {
  return { model: "m", system: "", messages: [], tools: [], ...parts }
}

function body(
  at: WireEndpoint,
  parts: Partial<ModelRequest>,
  options: ChatCompletionsOptions = {},
): Record<string, unknown> {
  return JSON.parse(bodyText(createChatCompletionsWire(at, options).encode(request(parts)))) as Record<string, unknown>
}

function headers(at: WireEndpoint, parts: Partial<ModelRequest>, options: ChatCompletionsOptions = {}) {
  return createChatCompletionsWire(at, options).headers(request(parts))
}
