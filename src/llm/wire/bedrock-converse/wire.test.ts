import { describe, expect, test } from "vitest"

import { bodyText } from "../../../../test/support/body-text.ts"
import { decodeFrames } from "../../../../test/support/decode-frames.ts"
import { startModelServer } from "../../../../test/support/model-server/server.ts"
import { reply as replies } from "../../../../test/support/model-server/turn.ts"
import type { Message } from "../../../protocol/message.ts"
import { EventStreamReader } from "../../aws/event-stream.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "../../model.ts"
import type { Frame } from "../../http/sse.ts"
import { createBedrockConverseWire } from "./wire.ts"
import type { DecodeResult, WireEndpoint } from "../wire.ts"
import { fc } from "../../../../test/support/property.ts"

const ENDPOINT: WireEndpoint = {
  provider: "bedrock",
  baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com",
  host: "bedrock-runtime.us-east-1.amazonaws.com",
  contextLength: 200_000,
}
const CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
const TOOL = { name: "f", description: "does f", parameters: { type: "object", properties: { a: { type: "number" } } } }
const PNG = { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } } as const
const FILLER = { role: "user", content: [{ text: " " }] }

describe("encode: messages", () => {
  test.each<[string, readonly Message[], unknown]>([
    ["an empty user message", [{ role: "user", content: "" }], [FILLER]],
    ["a blank user message", [{ role: "user", content: " \n\t" }], [FILLER]],
    ["no message", [], [FILLER]],
    [
      "a history that starts with the assistant",
      [
        { role: "assistant", content: "hi" },
        { role: "user", content: "go" },
      ],
      [FILLER, { role: "assistant", content: [{ text: "hi" }] }, { role: "user", content: [{ text: "go" }] }],
    ],
    [
      "a history that ends with the assistant",
      [
        { role: "user", content: "go" },
        { role: "assistant", content: "hi" },
      ],
      [{ role: "user", content: [{ text: "go" }] }, { role: "assistant", content: [{ text: "hi" }] }, FILLER],
    ],
    [
      "two tool results",
      [{ role: "user", content: "go" }, assistantCalls("A", "B"), result("A", "one"), result("B", "")],
      [
        { role: "user", content: [{ text: "go" }] },
        {
          role: "assistant",
          content: [
            { toolUse: { toolUseId: "A", name: "f", input: { a: 1 } } },
            { toolUse: { toolUseId: "B", name: "f", input: { a: 1 } } },
          ],
        },
        {
          role: "user",
          content: [
            { toolResult: { toolUseId: "A", content: [{ text: "one" }] } },
            { toolResult: { toolUseId: "B", content: [{ text: " " }] } },
          ],
        },
      ],
    ],
    [
      "consecutive messages of one role, and injected text",
      [
        { role: "user", content: "a" },
        { role: "user", content: "b", injected: "memory" },
      ],
      [{ role: "user", content: [{ text: "a" }, { text: "b" }, { text: "memory" }] }],
    ],
    [
      "images",
      [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            PNG,
            { type: "image_url", image_url: { url: "data:image/jpg;base64,BBBB" } },
            { type: "image_url", image_url: { url: "https://example.org/cat.png" } },
            { type: "image_url", image_url: { url: "data:image/svg+xml;base64,BBBB" } },
          ],
        },
      ],
      [
        {
          role: "user",
          content: [
            { text: "look" },
            { image: { format: "png", source: { bytes: "AAEC" } } },
            { image: { format: "jpeg", source: { bytes: "BBBB" } } },
            { text: "[image not sent: https://example.org/cat.png]" },
            { text: "[image not sent]" },
          ],
        },
      ],
    ],
    [
      "malformed arguments, ids that AWS rejects",
      [
        { role: "user", content: "go" },
        {
          role: "assistant",
          content: "",
          tool_calls: [
            { id: "call|1/ä", type: "function", function: { name: "f", arguments: '{"a":' } },
            { id: "x".repeat(80), type: "function", function: { name: "f", arguments: "{}" } },
          ],
        },
        result("call|1/ä", "one"),
        result("x".repeat(80), "two"),
      ],
      [
        { role: "user", content: [{ text: "go" }] },
        {
          role: "assistant",
          content: [
            { toolUse: { toolUseId: "call_1__", name: "f", input: {} } },
            { toolUse: { toolUseId: `${"x".repeat(51)}_d929cdeea7e6`, name: "f", input: {} } },
          ],
        },
        {
          role: "user",
          content: [
            { toolResult: { toolUseId: "call_1__", content: [{ text: "one" }] } },
            { toolResult: { toolUseId: `${"x".repeat(51)}_d929cdeea7e6`, content: [{ text: "two" }] } },
          ],
        },
      ],
    ],
  ])("%s", (_name, messages, expected) => {
    expect(sent({ messages, tools: [TOOL] })["messages"]).toEqual(expected)
  })

  test.each([
    [CLAUDE, { image: { format: "png", source: { bytes: "AAEC" } } }],
    ["amazon.nova-pro-v1:0", { image: { format: "png", source: { bytes: "AAEC" } } }],
    ["meta.llama3-1-8b-instruct-v1:0", { text: "[image not sent]" }],
  ])("an image in a tool result for %s", (model, expected) => {
    const messages: Message[] = [
      { role: "user", content: "go" },
      assistantCalls("A"),
      { ...result("A", ""), content: [{ type: "text", text: "shot" }, PNG] },
    ]
    expect(sent({ model, messages, tools: [TOOL] })["messages"]).toContainEqual({
      role: "user",
      content: [{ toolResult: { toolUseId: "A", content: [{ text: "shot" }, expected] } }],
    })
  })

  test.each<[string, Partial<ModelRequest>]>([
    ["a model without tools", { model: "us.deepseek.r1-v1:0", tools: [TOOL] }],
    ["a request without tools", { model: CLAUDE, tools: [] }],
  ])("%s gets earlier calls as text", (_name, parts) => {
    const messages = [{ role: "user", content: "go" } as const, assistantCalls("A"), result("A", "one")]
    const body = sent({ ...parts, messages })
    expect([body["toolConfig"], body["messages"]]).toEqual([
      undefined,
      [
        { role: "user", content: [{ text: "go" }] },
        { role: "assistant", content: [{ text: '[called f with {"a":1}]' }] },
        { role: "user", content: [{ text: "[result of f]" }, { text: "one" }] },
      ],
    ])
  })

  test("signed reasoning is sent back only to Claude", () => {
    const reasoningContent = { reasoningText: { text: "hm", signature: "sig" } }
    const thinking: Message = {
      ...assistantCalls("A"),
      reasoning_details: [
        { type: "thinking", thinking: "of another wire", signature: "x" },
        { type: "bedrock.reasoning", reasoningContent },
        { type: "bedrock.reasoning", reasoningContent: { redactedContent: "AAAA" } },
      ],
    }
    const messages = [{ role: "user", content: "go" } as const, thinking, result("A", "one")]
    const call = { toolUse: { toolUseId: "A", name: "f", input: { a: 1 } } }
    const wire = createBedrockConverseWire(ENDPOINT)
    const assistant = (model: string) =>
      contentOf(JSON.parse(bodyText(wire.encode(requestOf({ model, messages, tools: [TOOL] })))), 1)
    expect(assistant(CLAUDE)).toEqual([{ reasoningContent }, { reasoningContent: { redactedContent: "AAAA" } }, call])
    expect(assistant("openai.gpt-oss-120b-1:0")).toEqual([call])
    expect(assistant("amazon.nova-pro-v1:0")).toEqual([call])
  })

  test("lone surrogates are not sent", () => {
    const body = sent({ system: "a\uD800", messages: [{ role: "user", content: "\uDC00b" }] })
    expect([body["system"], body["messages"]]).toEqual([
      [{ text: "a\uFFFD" }],
      [{ role: "user", content: [{ text: "\uFFFDb" }] }],
    ])
  })
})

describe("encode: everything else", () => {
  test("a full request, messages last", () => {
    const messages: Message[] = [{ role: "user", content: "hi" }]
    const request = requestOf({ model: CLAUDE, system: "Be brief.", messages, tools: [TOOL], temperature: 0.3 })
    expect(bodyText(createBedrockConverseWire(ENDPOINT).encode(request))).toBe(
      '{"inferenceConfig":{"maxTokens":4096,"temperature":0.3},"system":[{"text":"Be brief."}],"toolConfig":{"tools":[' +
        '{"toolSpec":{"name":"f","description":"does f","inputSchema":{"json":{"type":"object","properties":{"a":{"type":"number"}}}}}}' +
        ']},"messages":[{"role":"user","content":[{"text":"hi"}]}]}',
    )
  })

  test.each([
    ["anthropic.claude-v2:1", "/model/anthropic.claude-v2%3A1/converse-stream"],
    [
      "arn:aws:bedrock:us-west-2:1:inference-profile/us.a-v1:0",
      "/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A1%3Ainference-profile%2Fus.a-v1%3A0/converse-stream",
    ],
  ])("the path of %s", (model, path) => {
    const request = requestOf({ model })
    const wire = createBedrockConverseWire(ENDPOINT)
    expect([wire.path(request), wire.headers(request)]).toEqual([
      path,
      { accept: "application/vnd.amazon.eventstream" },
    ])
  })

  test.each([
    "us.deepseek.r1-v1:0",
    "deepseek-r1",
    "stability.sd3",
    "cohere.embed-english-v3",
    "amazon.titan-embed-text",
  ])("%s gets no tools", (model) => {
    expect(sent({ model, tools: [TOOL] })["toolConfig"]).toBe(undefined)
  })

  test.each([
    ["auto", undefined],
    ["required", { any: {} }],
    ["none", undefined],
  ] as const)("the tool choice %s", (toolChoice, expected) => {
    expect(sent({ tools: [{ ...TOOL, description: "" }], toolChoice })["toolConfig"]).toEqual({
      tools: [{ toolSpec: { name: "f", inputSchema: { json: TOOL.parameters } } }],
      ...(expected === undefined ? {} : { toolChoice: expected }),
    })
  })

  test.each([
    [CLAUDE, 0.5],
    ["anthropic.claude-3-5-sonnet-20241022-v2:0", 0.5],
    ["anthropic.claude-sonnet-4-20250514-v1:0", 0.5],
    ["us.anthropic.claude-opus-4-7-v1:0", undefined],
    ["us.anthropic.claude-opus-5-v1:0", undefined],
  ])("the temperature for %s", (model, temperature) => {
    expect(sent({ model, temperature: 0.5, maxOutputTokens: 100 })["inferenceConfig"]).toEqual({
      maxTokens: 100,
      ...(temperature === undefined ? {} : { temperature }),
    })
  })

  test("the output limit is within the context window", () => {
    const wire = createBedrockConverseWire({ ...ENDPOINT, contextLength: 2048 })
    expect(JSON.parse(bodyText(wire.encode(requestOf({}))))).toMatchObject({ inferenceConfig: { maxTokens: 2047 } })
  })

  test.each<[Record<string, unknown>, unknown]>([
    [{}, undefined],
    [{ version: "1" }, undefined],
    [{ identifier: "gr" }, { guardrailIdentifier: "gr", guardrailVersion: "DRAFT" }],
    [
      { identifier: "gr", version: 2, trace: "enabled", stream_processing_mode: "async" },
      { guardrailIdentifier: "gr", guardrailVersion: "2", trace: "enabled", streamProcessingMode: "async" },
    ],
    [
      { guardrail_identifier: "gr", guardrail_version: "3" },
      { guardrailIdentifier: "gr", guardrailVersion: "3" },
    ],
  ])("the guardrail %j", (guardrail, expected) => {
    const wire = createBedrockConverseWire(ENDPOINT, { guardrail })
    expect((JSON.parse(bodyText(wire.encode(requestOf({})))) as Record<string, unknown>)["guardrailConfig"]).toEqual(
      expected,
    )
  })

  test("without streaming", () => {
    const guardrail = { identifier: "gr", stream_processing_mode: "async" }
    const wire = createBedrockConverseWire(ENDPOINT, { streaming: false, guardrail })
    const request = requestOf({ model: "m:1" })
    expect([wire.path(request), wire.headers(request), JSON.parse(bodyText(wire.encode(request)))]).toEqual([
      "/model/m%3A1/converse",
      { accept: "application/json" },
      {
        inferenceConfig: { maxTokens: 4096 },
        guardrailConfig: { guardrailIdentifier: "gr", guardrailVersion: "DRAFT" },
        messages: [FILLER],
      },
    ])
  })

  test("each request of a conversation is a byte prefix of the next", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 })
    const exchange = fc.record({ user: text, calls: fc.nat(2), output: text, answer: text })
    fc.assert(
      fc.property(fc.array(exchange, { minLength: 1, maxLength: 5 }), text, (exchanges, system) => {
        const wire = createBedrockConverseWire(ENDPOINT)
        const messages: Message[] = []
        const bodies: string[] = []
        const ask = () =>
          bodies.push(
            bodyText(wire.encode(requestOf({ model: CLAUDE, system, messages: [...messages], tools: [TOOL] }))),
          )
        for (const [turn, { user, calls, output, answer }] of exchanges.entries()) {
          messages.push({ role: "user", content: user })
          ask()
          const ids = Array.from({ length: calls }, (_, index) => `c${turn}-${index}`)
          if (calls > 0) {
            messages.push(assistantCalls(...ids), ...ids.map((id) => result(id, output)))
            ask()
          }
          messages.push({ role: "assistant", content: answer })
        }
        for (const [index, body] of bodies.entries()) {
          expect(body.startsWith((bodies[index - 1] ?? "").slice(0, -"]}".length))).toBe(true)
        }
        const fresh = createBedrockConverseWire(ENDPOINT)
        messages.pop()
        expect(bodyText(fresh.encode(requestOf({ model: CLAUDE, system, messages, tools: [TOOL] })))).toBe(
          bodies.at(-1),
        )
      }),
    )
  })
})

describe("encode: thinking", () => {
  const OPUS = "us.anthropic.claude-opus-4-6-v1"
  const adaptive = (effort: string) => ({
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort },
  })
  const budget = (tokens: number) => ({ thinking: { type: "enabled", budget_tokens: tokens } })
  test.each<[string, Partial<ModelRequest>, object, unknown]>([
    [OPUS, {}, { maxTokens: 4096 }, undefined],
    [OPUS, { effort: "none" }, { maxTokens: 4096 }, undefined],
    [OPUS, { effort: "xhigh", temperature: 0.3 }, { maxTokens: 4096 }, adaptive("max")],
    [OPUS, { effort: "high", toolChoice: "required" }, { maxTokens: 4096 }, undefined],
    [CLAUDE, { effort: "low", temperature: 0.3 }, { maxTokens: 8096 }, budget(4000)],
    [CLAUDE, { effort: "high", maxOutputTokens: 30_000 }, { maxTokens: 30_000 }, budget(16_000)],
    ["anthropic.claude-3-5-sonnet-20241022-v2:0", { effort: "high" }, { maxTokens: 4096 }, undefined],
    ["anthropic.claude-3-7-sonnet-20250219-v1:0", { effort: "low" }, { maxTokens: 8096 }, budget(4000)],
    ["anthropic.claude-instant-v1", { effort: "high" }, { maxTokens: 4096 }, undefined],
    ["us.anthropic.claude-haiku-4-5-20251001-v1:0", { effort: "high" }, { maxTokens: 4096 }, undefined],
    ["openai.gpt-oss-120b-1:0", { effort: "xhigh" }, { maxTokens: 4096 }, { reasoning_effort: "high" }],
    [
      "us.amazon.nova-2-lite-v1:0",
      { effort: "high" },
      { maxTokens: 4096 },
      { reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" } },
    ],
    ["amazon.nova-pro-v1:0", { effort: "high", temperature: 0.3 }, { maxTokens: 4096, temperature: 0.3 }, undefined],
  ])("%s %j", (model, request, inferenceConfig, fields) => {
    const body = sent({ model, ...request })
    expect([body["inferenceConfig"], body["additionalModelRequestFields"]]).toEqual([inferenceConfig, fields])
  })
})

describe("decode", () => {
  test("text, reasoning, calls and usage", () => {
    const { finished, events } = decode([
      event("messageStart", { role: "assistant" }),
      delta(0, { reasoningContent: { text: "th" } }),
      delta(0, { reasoningContent: { text: "ink" } }),
      delta(0, { reasoningContent: { signature: "sig" } }),
      event("contentBlockStop", { contentBlockIndex: 0 }),
      delta(1, { reasoningContent: { redactedContent: "AAAA" } }),
      delta(2, { text: "Hel" }),
      delta(2, { text: "lo" }),
      opens(3, "A", "f"),
      delta(3, { toolUse: { input: '{"a"' } }),
      delta(3, { toolUse: { input: ":1}" } }),
      event("contentBlockStop", { contentBlockIndex: 3 }),
      delta(4, { text: "later" }),
      stops("tool_use"),
      event("metadata", {
        usage: { inputTokens: 200, outputTokens: 50, cacheReadInputTokens: 800, cacheWriteInputTokens: 100 },
      }),
    ])
    expect(finished).toEqual(
      reply({
        content: "Hello\nlater",
        reasoning: "think",
        toolCalls: [call("A", "f", '{"a":1}')],
        finishReason: "tool_calls",
        usage: { input: 200, output: 50, cacheRead: 800, cacheWrite: 100, reasoning: 0 },
        carriers: {
          reasoning_details: [
            { type: "bedrock.reasoning", reasoningContent: { reasoningText: { text: "think", signature: "sig" } } },
            { type: "bedrock.reasoning", reasoningContent: { redactedContent: "AAAA" } },
          ],
        },
      }),
    )
    expect(events).toEqual([
      { type: "reasoning-delta", text: "th" },
      { type: "reasoning-delta", text: "ink" },
      { type: "text-delta", text: "Hel" },
      { type: "text-delta", text: "lo" },
      { type: "tool-generating", tool: "f" },
    ])
  })

  test("the events of several blocks equal the reply", () => {
    const { finished, events } = decode([
      delta(0, { reasoningContent: { text: "a" } }),
      delta(1, { reasoningContent: { text: "b" } }),
      delta(2, { text: "c" }),
      delta(3, { text: "d" }),
      delta(3, { text: "e" }),
      stops("end_turn"),
    ])
    const joined = (type: ModelEvent["type"]) =>
      events.map((shown) => (shown.type === type && "text" in shown ? shown.text : "")).join("")
    expect([joined("reasoning-delta"), joined("text-delta")]).toEqual(["a\n\nb", "c\nde"])
    expect(finished).toEqual(reply({ content: "c\nde", reasoning: "a\n\nb" }))
  })

  test("unsigned reasoning is only displayed", () => {
    const { finished } = decode([
      delta(0, { reasoningContent: { text: "hm" } }),
      delta(1, { text: "x" }),
      stops("end_turn"),
    ])
    expect(finished).toEqual(reply({ content: "x", reasoning: "hm" }))
  })

  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["content_filtered", "content_filter"],
    ["guardrail_intervened", "content_filter"],
    ["something_new", "stop"],
  ])("the stop reason %s is %s", (stop, finishReason) => {
    expect(decode([delta(0, { text: "x" }), stops(stop)]).finished).toEqual(
      reply({ content: "x", finishReason: finishReason as ModelReply["finishReason"] }),
    )
  })

  test("a call without id gets a stable one, a call without arguments an empty object", () => {
    const { finished } = decode([
      event("contentBlockStart", { contentBlockIndex: 0, start: { toolUse: { name: "f" } } }),
      stops("tool_use"),
    ])
    expect(finished).toEqual(reply({ toolCalls: [call("", "f", "{}")], finishReason: "tool_calls" }))
  })

  test.each([true, false])("a call truncated inside its arguments is dropped (connection ended: %s)", (ended) => {
    const frames = [delta(0, { text: "Wait." }), opens(1, "A", "f"), delta(1, { toolUse: { input: '{"a":1' } })]
    expect(decode(frames, { ended }).finished).toEqual(
      reply({ content: "Wait.", finishReason: "length", ending: "cut-call" }),
    )
  })

  test("calls that were complete before the cut are kept", () => {
    const frames = [
      opens(0, "A", "f"),
      delta(0, { toolUse: { input: "{}" } }),
      event("contentBlockStop", { contentBlockIndex: 0 }),
    ]
    expect(decode(frames, { ended: false }).finished).toEqual(
      reply({ toolCalls: [call("A", "f", "{}")], finishReason: "tool_calls" }),
    )
  })

  test("text before the cut is returned; without text the reply is unusable", () => {
    expect(decode([delta(0, { text: "Hal" })], { ended: false }).finished).toEqual(
      reply({ content: "Hal", ending: "cut-text" }),
    )
    expect(decode([event("messageStart", { role: "assistant" })]).finished).toEqual({
      kind: "unusable",
      received: "a stream that was cut off",
    })
    expect(decode([]).finished).toEqual({ kind: "unusable", received: "an empty stream" })
  })

  test("an exception inside the stream is the error", () => {
    const data = '{"error":{"code":429,"type":"throttlingException","message":"slow down"}}'
    expect(decode([delta(0, { text: "x" }), { event: "error", data }, stops("end_turn")]).finished).toEqual({
      kind: "error",
      body: data,
    })
  })

  test("a damaged frame cuts the stream off", () => {
    const damaged = { event: "damaged", data: "the checksum of a frame is wrong" }
    expect(decode([damaged]).finished).toMatchObject({ kind: "unusable" })
    expect(decode([delta(0, { text: "x" }), damaged, delta(0, { text: "y" }), stops("end_turn")]).finished).toEqual(
      reply({ content: "x", ending: "cut-text" }),
    )
  })

  test.each([
    ["<html>", { kind: "unusable", received: "something that is not JSON", notModelServer: true }],
    ['{"ok":true}', { kind: "unusable", received: "JSON without a message" }],
  ])("the body %s", (body, expected) => {
    expect(createBedrockConverseWire(ENDPOINT).decodeComplete(body)).toEqual(expected)
  })
})

describe("with the model server", () => {
  const answer = {
    blocks: [
      { reasoning: ["Let me ", "see 🤔."], signature: "signed" },
      { text: ["Grüße ", "und 👋."] },
      { call: { name: "f", input: { a: 1, text: 'ä\\"' }, id: "A" } },
      { call: { name: "g", input: {}, id: "B" } },
    ],
    usage: { input: 7, output: 5, cacheRead: 3, cacheWrite: 2 },
  } as const
  const expected = reply({
    content: "Grüße und 👋.",
    reasoning: "Let me see 🤔.",
    toolCalls: [call("A", "f", '{"a":1,"text":"ä\\\\\\""}'), call("B", "g", "{}")],
    finishReason: "tool_calls",
    usage: { input: 7, output: 5, cacheRead: 3, cacheWrite: 2, reasoning: 0 },
    carriers: {
      reasoning_details: [
        {
          type: "bedrock.reasoning",
          reasoningContent: { reasoningText: { text: "Let me see 🤔.", signature: "signed" } },
        },
      ],
    },
  })

  test("any split of the stream, and the complete document, result in the same reply", async () => {
    await using server = await startModelServer([replies(answer), replies(answer)])
    const request = requestOf({ model: CLAUDE, messages: [{ role: "user", content: "hi" }], tools: [TOOL] })
    const bytes = await post(server.url, request, { streaming: true })
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
        const reader = new EventStreamReader()
        const points = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
        const frames = points.slice(1).flatMap((end, index) => reader.push(bytes.subarray(points[index], end)))
        expect(decode([...frames, ...reader.end()]).finished).toEqual(expected)
      }),
    )
    const complete = await post(server.url, request, { streaming: false })
    expect(createBedrockConverseWire(ENDPOINT).decodeComplete(complete.toString())).toEqual(expected)
  })

  test("a corrupted frame cuts the stream off", async () => {
    await using server = await startModelServer([replies({ ...answer, corruptDelta: 1 })])
    const reader = new EventStreamReader()
    const bytes = await post(server.url, requestOf({ model: CLAUDE }), { streaming: true })
    expect(decode(reader.push(bytes)).finished).toMatchObject({ kind: "unusable" })
  })
})

async function post(url: string, request: ModelRequest, options: { streaming: boolean }): Promise<Buffer> {
  const wire = createBedrockConverseWire(ENDPOINT, options)
  const response = await fetch(url + wire.path(request), {
    method: "POST",
    headers: wire.headers(request),
    body: bodyText(wire.encode(request)),
  })
  return Buffer.from(await response.arrayBuffer())
}

function assistantCalls(...ids: readonly string[]) {
  return { role: "assistant" as const, content: null, tool_calls: ids.map((id) => call(id, "f", '{"a":1}')) }
}

function result(id: string, content: string) {
  return { role: "tool" as const, content, tool_call_id: id, tool_name: "f" }
}

function call(id: string, name: string, args: string) {
  return { id, type: "function" as const, function: { name, arguments: args } }
}

function event(name: string, payload: object): Frame {
  return { event: name, data: JSON.stringify({ ...payload, p: "abc" }) }
}

function delta(contentBlockIndex: number, change: object): Frame {
  return event("contentBlockDelta", { contentBlockIndex, delta: change })
}

function opens(contentBlockIndex: number, toolUseId: string, name: string): Frame {
  return event("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId, name } } })
}

function stops(stopReason: string): Frame {
  return event("messageStop", { stopReason })
}

function decode(
  frames: readonly Frame[],
  how: { ended: boolean } = { ended: true },
): { finished: DecodeResult; events: ModelEvent[] } {
  return decodeFrames(createBedrockConverseWire(ENDPOINT), frames, how)
}

function reply(parts: Partial<ModelReply>): DecodeResult {
  return {
    kind: "reply",
    reply: {
      content: null,
      toolCalls: [],
      finishReason: "stop",
      reasoning: null,
      carriers: {},
      ending: "complete",
      ...parts,
    },
  }
}

function requestOf(parts: Partial<ModelRequest>): ModelRequest {
  return { model: "m", system: "", messages: [], tools: [], ...parts }
}

function sent(parts: Partial<ModelRequest>): Record<string, unknown> {
  return JSON.parse(bodyText(createBedrockConverseWire(ENDPOINT).encode(requestOf(parts)))) as Record<string, unknown>
}

function contentOf(body: unknown, index: number): unknown {
  return (body as { messages: { content: unknown }[] }).messages[index]?.content
}
