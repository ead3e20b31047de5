import { describe, expect, test } from "vitest"

import { bodyText } from "../../../../test/support/body-text.ts"
import { startModelServer } from "../../../../test/support/model-server/server.ts"
import { openHttpConnection } from "../../http/http-connection.ts"
import type { ModelEvent, ModelRequest } from "../../model.ts"
import { SseReader } from "../../http/sse.ts"
import { anthropicCredentialHeaders, createAnthropicMessagesWire } from "./wire.ts"
import type { WireEndpoint } from "../wire.ts"

describe("the path", () => {
  test.each([
    ["https://api.anthropic.com", "/v1/messages"],
    ["https://api.anthropic.com/", "/v1/messages"],
    ["https://api.anthropic.com/v1", "/messages"],
    ["https://api.anthropic.com/v1/", "/messages"],
    ["https://api.minimax.io/anthropic", "/v1/messages"],
    ["https://gateway.example/v1?team=a", "/messages"],
    ["https://me.services.ai.azure.com/anthropic", "/v1/messages?api-version=2025-04-15"],
    ["https://me.services.ai.azure.com/anthropic/v1", "/messages?api-version=2025-04-15"],
    ["https://me.services.ai.azure.com/anthropic?api-version=2026-01-01", "/v1/messages"],
  ])("of base URL %s is %s", (baseUrl, expected) => {
    expect(createAnthropicMessagesWire(endpointAt(baseUrl), {}).path(REQUEST)).toBe(expected)
  })
})

describe("headers", () => {
  const INTERLEAVED = "interleaved-thinking-2025-05-14"
  const FINE = "fine-grained-tool-streaming-2025-05-14"
  const MILLION = "context-1m-2025-08-07"
  const FAST = "fast-mode-2026-02-01"

  test.each<[string, readonly string[], string, readonly string[]]>([
    ["https://api.anthropic.com", [], "claude-opus-4-6", [INTERLEAVED, FINE]],
    ["https://api.minimax.io/anthropic", [], "MiniMax-M2.5", [INTERLEAVED]],
    ["https://me.services.ai.azure.com/anthropic", [], "claude-opus-4-6", [INTERLEAVED, FINE, MILLION]],
    ["https://bedrock-runtime.eu-west-1.amazonaws.com", [], "claude-opus-4-6", [INTERLEAVED, FINE, MILLION]],
    ["https://api.anthropic.com", [MILLION, FINE], "claude-opus-4-6", [INTERLEAVED, FINE, MILLION]],
    ["https://api.anthropic.com", [FAST], "claude-opus-4.6", [INTERLEAVED, FINE, FAST]],
    ["https://api.anthropic.com", [FAST], "claude-opus-4-7", [INTERLEAVED, FINE]],
  ])("%s requests betas (%j, %s)", (baseUrl, betas, model, expected) => {
    const wire = createAnthropicMessagesWire(endpointAt(baseUrl), { betas })
    expect(wire.headers({ ...REQUEST, model })).toEqual({
      "anthropic-version": "2023-06-01",
      "anthropic-beta": expected.join(","),
    })
    const { speed } = JSON.parse(bodyText(wire.encode({ ...REQUEST, model }))) as { speed?: string }
    expect(speed).toBe(expected.includes(FAST) ? "fast" : undefined)
  })

  test("the version is configurable", () => {
    const wire = createAnthropicMessagesWire(endpointAt("https://x"), { version: "2027-01-01" })
    expect(wire.headers(REQUEST)["anthropic-version"]).toBe("2027-01-01")
  })

  test.each([
    ["https://api.anthropic.com", false, { "x-api-key": "k" }],
    ["https://api.anthropic.com", true, { authorization: "Bearer k" }],
    ["https://api.minimax.io/anthropic", false, { authorization: "Bearer k" }],
    ["https://api.minimaxi.com/anthropic", false, { authorization: "Bearer k" }],
    ["https://me.services.ai.azure.com/anthropic", false, { authorization: "Bearer k" }],
    ["https://azure.com.evil.com", false, { "x-api-key": "k" }],
  ])("the key for %s (OAuth: %s)", (baseUrl, oauth, expected) => {
    expect(anthropicCredentialHeaders(endpointAt(baseUrl), "k", { oauth })).toEqual(expected)
  })
})

describe("the body", () => {
  const f = { name: "f", description: "Does f.", parameters: { type: "object", properties: {} } }

  test("ends with the messages", () => {
    expect(bodyText(nativeWire().encode({ ...REQUEST, tools: [f], effort: "high" }))).toBe(
      '{"model":"claude-opus-4-6","max_tokens":128000,"thinking":{"type":"adaptive","display":"summarized"},' +
        '"output_config":{"effort":"high"},"stream":true,"tool_choice":{"type":"auto"},' +
        '"tools":[{"name":"f","description":"Does f.","input_schema":{"type":"object","properties":{}}}],' +
        '"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}',
    )
  })

  test("system messages are moved out of the history", () => {
    const messages = [...REQUEST.messages, { role: "system" as const, content: " And kind. " }]
    const body = JSON.parse(bodyText(nativeWire().encode({ ...REQUEST, messages }))) as {
      system: string
      messages: unknown[]
    }
    expect([body.system, body.messages.length]).toEqual(["Be brief.\n\nAnd kind.", 1])
    expect(JSON.parse(bodyText(nativeWire().encode({ ...REQUEST, system: "" })))).not.toHaveProperty("system")
  })

  test.each<[NonNullable<ModelRequest["toolChoice"]>, string, unknown]>([
    ["auto", "https://api.anthropic.com", { type: "auto" }],
    ["required", "https://api.anthropic.com", { type: "any" }],
    ["none", "https://api.anthropic.com", { type: "none" }],
    ["none", "https://api.minimax.io/anthropic", undefined],
  ])("tool choice %s at %s", (toolChoice, baseUrl, expected) => {
    const wire = createAnthropicMessagesWire(endpointAt(baseUrl), {})
    const body = JSON.parse(bodyText(wire.encode({ ...REQUEST, tools: [f], toolChoice }))) as Record<string, unknown>
    expect(body["tool_choice"]).toEqual(expected)
    expect(body["tools"] === undefined).toBe(expected === undefined)
    expect(JSON.parse(bodyText(wire.encode({ ...REQUEST, toolChoice })))).not.toHaveProperty("tool_choice")
  })

  test("of tools with the same name the first is sent", () => {
    const wire = nativeWire()
    const tools = [f, { ...f, description: "Another." }, { ...f, name: "g" }]
    const names = () => (JSON.parse(bodyText(wire.encode({ ...REQUEST, tools }))) as { tools: object[] }).tools
    const g = { name: "g", description: "Does f.", input_schema: f.parameters }
    expect(names()).toEqual([{ ...g, name: "f" }, g])
    expect(names()).toEqual([{ ...g, name: "f" }, g])
  })
})

test("a round trip with the model server", async () => {
  await using server = await startModelServer([
    {
      kind: "reply",
      blocks: [
        { reasoning: ["Wo", " ist es?"], signature: "sig-1" },
        { call: { name: "f", input: { q: "größe" }, id: "toolu_1", inputDeltas: ['{"q":"grö', 'ße"}'] } },
        { redacted: "opaque" },
        { text: "Gleich." },
      ],
      usage: { input: 200, output: 50, cacheRead: 800, cacheWrite: 100 },
    },
  ])
  const endpoint = endpointAt(server.url)
  const wire = createAnthropicMessagesWire(endpoint, {})
  const connection = openHttpConnection(new URL(endpoint.baseUrl))
  const response = await connection.post(wire.path(REQUEST), bodyText(wire.encode(REQUEST)), {
    headers: { ...wire.headers(REQUEST), "content-type": "application/json" },
    signal: new AbortController().signal,
    timeouts: { connectMs: 5000, idleMs: 5000 },
  })
  const reader = new SseReader()
  let state = wire.start()
  const events: ModelEvent[] = []
  const take = (frames: ReturnType<SseReader["push"]>): void => {
    for (const frame of frames) {
      const [next, more] = wire.decode(state, frame) ?? [state, []]
      state = next
      events.push(...more)
    }
  }
  for await (const bytes of response.body) take(reader.push(bytes))
  take(reader.end())
  connection.close()

  expect(server.requests[0]?.path).toBe("/v1/messages")
  expect(server.view(0)).toEqual({
    model: "claude-opus-4-6",
    system: "Be brief.",
    tools: [],
    messages: [{ role: "user", text: "hi", calls: [], results: [] }],
  })
  const thinking = { type: "thinking", thinking: "Wo ist es?", signature: "sig-1" }
  const hidden = { type: "redacted_thinking", data: "opaque" }
  expect(wire.finish(state, { ended: true })).toEqual({
    kind: "reply",
    reply: {
      content: "Gleich.",
      toolCalls: [{ id: "toolu_1", type: "function", function: { name: "f", arguments: '{"q":"größe"}' } }],
      finishReason: "tool_calls",
      reasoning: "Wo ist es?",
      usage: { input: 200, output: 50, cacheRead: 800, cacheWrite: 100, reasoning: 0 },
      carriers: {
        reasoning_details: [thinking, hidden],
        anthropic_content_blocks: [
          thinking,
          { type: "tool_use", id: "toolu_1", name: "f" },
          hidden,
          { type: "text", text: "Gleich." },
        ],
      },
      ending: "complete",
    },
  })
  expect(events).toEqual([
    { type: "reasoning-delta", text: "Wo" },
    { type: "reasoning-delta", text: " ist es?" },
    { type: "tool-generating", tool: "f" },
  ])
})

const REQUEST: ModelRequest = {
  model: "claude-opus-4-6",
  system: "Be brief.",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
}

function nativeWire() {
  return createAnthropicMessagesWire(endpointAt("https://api.anthropic.com"), {})
}

function endpointAt(baseUrl: string): WireEndpoint {
  return { provider: "custom", baseUrl, host: new URL(baseUrl).hostname, contextLength: 200_000 }
}
