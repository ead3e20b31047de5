import { describe, expect, test } from "vitest"

import { bodyText } from "../../../../test/support/body-text.ts"
import { dataFrames, decodeFrames } from "../../../../test/support/decode-frames.ts"
import { startModelServer } from "../../../../test/support/model-server/server.ts"
import { cutsAfter, failsInStream, reply as replies, says } from "../../../../test/support/model-server/turn.ts"
import type { Turn } from "../../../../test/support/model-server/turn.ts"
import type { AssistantMessage, Message, ToolCall } from "../../../protocol/message.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "../../model.ts"
import { SseReader } from "../../http/sse.ts"
import { createCodexResponsesWire } from "./wire.ts"
import type { DecodeResult, WireEndpoint } from "../wire.ts"
import { fc } from "../../../../test/support/property.ts"

const OPENAI: WireEndpoint = {
  provider: "openai-api",
  baseUrl: "https://api.openai.com/v1",
  host: "api.openai.com",
  contextLength: 400_000,
}
const XAI: WireEndpoint = { ...OPENAI, provider: "xai", baseUrl: "https://api.x.ai/v1", host: "api.x.ai" }
const GITHUB: WireEndpoint = {
  ...OPENAI,
  provider: "copilot",
  baseUrl: "https://api.githubcopilot.com",
  host: "api.githubcopilot.com",
}
const CHATGPT: WireEndpoint = {
  ...OPENAI,
  provider: "openai-codex",
  baseUrl: "https://chatgpt.com/backend-api/codex",
  host: "chatgpt.com",
}
const ENCRYPTED = { include: ["reasoning.encrypted_content"] }
const OPENAI_KIND = "other:https://api.openai.com/v1"

describe("the request", () => {
  test("contains the documented fields and ends with the input", () => {
    const tool = { name: "f", description: "Does f.", parameters: { type: "object", properties: {} } }
    const request = requestOf({
      model: "gpt-5.2",
      system: "Be brief.",
      messages: [{ role: "user", content: "hi" }],
      tools: [tool],
      effort: "high",
      maxOutputTokens: 100,
      temperature: 0.5,
      conversationId: "s1",
      cacheTtl: "5m",
    })
    expect(bodyText(createCodexResponsesWire(OPENAI).encode(request))).toBe(
      '{"model":"gpt-5.2","stream":true,"store":false,"instructions":"Be brief.",' +
        '"reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"],' +
        '"max_output_tokens":100,"temperature":0.5,"prompt_cache_key":"s1",' +
        '"tools":[{"type":"function","name":"f","description":"Does f.",' +
        '"parameters":{"type":"object","properties":{}},"strict":false}],' +
        '"tool_choice":"auto","parallel_tool_calls":true,' +
        '"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}',
    )
  })

  test("has default instructions without a system prompt, and no tool fields without tools", () => {
    expect(body({ system: " ", toolChoice: "none" })).toEqual({
      model: "m",
      stream: true,
      store: false,
      instructions: "You are Hermes, a personal AI agent.",
      reasoning: { summary: "auto" },
      include: ["reasoning.encrypted_content"],
      input: [],
    })
  })

  test.each(["required", "none"] as const)("tool choice %s", (toolChoice) => {
    const tools = [{ name: "f", description: "", parameters: {} }]
    expect(body({ toolChoice, tools })).toMatchObject({ tool_choice: toolChoice, parallel_tool_calls: true })
  })

  test.each<[string, WireEndpoint, string, ModelRequest["effort"], object]>([
    ["minimal is low", OPENAI, "gpt-5.2", "minimal", { reasoning: { effort: "low", summary: "auto" }, ...ENCRYPTED }],
    [
      "xhigh stays",
      OPENAI,
      "openai/gpt-5.2",
      "xhigh",
      { reasoning: { effort: "xhigh", summary: "auto" }, ...ENCRYPTED },
    ],
    ["none omits it", OPENAI, "gpt-5.2", "none", { include: [] }],
    ["a model that cannot", OPENAI, "gpt-4.1", "high", { include: [] }],
    ["grok-4 has no effort", XAI, "grok-4", "high", ENCRYPTED],
    ["grok-4.3 has", XAI, "grok-4.3-fast", "minimal", { reasoning: { effort: "low" }, ...ENCRYPTED }],
    ["grok-3-mini has", XAI, "x-ai/grok-3-mini", "high", { reasoning: { effort: "high" }, ...ENCRYPTED }],
    ["grok none", XAI, "grok-4.3", "none", { include: [] }],
  ])("reasoning: %s", (_name, endpoint, model, effort, expected) => {
    const { reasoning, include } = body({ model, ...(effort === undefined ? {} : { effort }) }, endpoint)
    expect({ ...(reasoning === undefined ? {} : { reasoning }), include }).toEqual(expected)
  })

  test.each<[string, WireEndpoint, object, object]>([
    ["OpenAI", OPENAI, { prompt_cache_key: "s1", max_output_tokens: 9, temperature: 1 }, {}],
    ["xAI", XAI, { prompt_cache_key: "s1", max_output_tokens: 9, temperature: 1 }, { "x-grok-conv-id": "s1" }],
    ["GitHub", GITHUB, { max_output_tokens: 9, temperature: 1 }, {}],
    ["ChatGPT", CHATGPT, { prompt_cache_key: "s1" }, {}],
    [
      "a look-alike",
      { ...OPENAI, host: "chatgpt.com.example" },
      { prompt_cache_key: "s1", max_output_tokens: 9, temperature: 1 },
      {},
    ],
  ])("limits and cache key at %s", (_name, endpoint, expected, headers) => {
    const request = requestOf({ conversationId: "s1", maxOutputTokens: 9, temperature: 1, effort: "none" })
    const wire = createCodexResponsesWire(endpoint)
    const {
      model: _m,
      stream: _s,
      store: _t,
      instructions: _i,
      include: _n,
      input: _p,
      ...rest
    } = parse(bodyText(wire.encode(request)))
    expect(rest).toEqual(expected)
    expect(wire.headers(request)).toEqual(headers)
    expect(wire.path(request)).toBe("/responses")
  })

  test("an unknown request field throws before anything is sent", () => {
    const request = { ...requestOf({}), foo: 1 }
    expect(() => bodyText(createCodexResponsesWire(OPENAI).encode(request))).toThrow(/request field foo/)
  })

  test("xAI gets schemas its grammar compiler accepts; the caller's copy is not modified", () => {
    const parameters = {
      type: "object",
      properties: {
        pattern: { type: "string", pattern: "^a", format: "uri" },
        format: { type: "array", items: { anyOf: [{ type: "string", format: "date" }, { enum: ["a/b", "c"] }] } },
        kind: { enum: ["x", "y"], default: { format: "kept" } },
      },
      $defs: { format: { type: "string", pattern: "z" } },
      required: ["pattern"],
    }
    const before = structuredClone(parameters)
    const tools = [{ name: "f", description: "", parameters }]
    expect(body({ tools }, XAI)["tools"]).toMatchObject([
      {
        parameters: {
          type: "object",
          properties: {
            pattern: { type: "string" },
            format: { type: "array", items: { anyOf: [{ type: "string" }, {}] } },
            kind: { enum: ["x", "y"], default: { format: "kept" } },
          },
          $defs: { format: { type: "string" } },
          required: ["pattern"],
        },
      },
    ])
    expect(JSON.stringify(body({ tools }, XAI)["tools"])).not.toMatch(/a\/b|\^a|uri|"date"|"z"/)
    expect(parameters).toEqual(before)
    expect(body({ tools })["tools"]).toMatchObject([{ parameters: before }])
  })

  test("each request of a session is a byte prefix of the next", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 })
    const message: fc.Arbitrary<Message> = fc.oneof(
      fc.record({ role: fc.constant("user" as const), content: text }),
      fc.record({ role: fc.constant("assistant" as const), content: fc.option(text) }),
      text.map((stored) => ({
        role: "assistant" as const,
        content: null,
        codex_reasoning_items: [{ type: "reasoning", summary: [], encrypted_content: stored }],
        tool_calls: [toolCall("A", "f", "{}")],
      })),
      text.map((content) => ({ role: "tool" as const, content, tool_call_id: "A", tool_name: "f" })),
    )
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 8 }), text, (messages, system) => {
        const wire = createCodexResponsesWire(OPENAI)
        const bodies = messages.map((_, index) =>
          bodyText(wire.encode(requestOf({ system, messages: messages.slice(0, index + 1) }))),
        )
        for (const [index, full] of bodies.entries()) {
          expect(full.startsWith((bodies[index - 1] ?? "").slice(0, -"]}".length))).toBe(true)
          expect(parse(full)).toHaveProperty("input")
        }
        const fresh = createCodexResponsesWire(OPENAI)
        expect(bodyText(fresh.encode(requestOf({ system, messages })))).toBe(bodies.at(-1))
      }),
    )
  })
})

describe("the input", () => {
  test("of a conversation", () => {
    const messages: Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
        ],
        injected: "[memory]",
      },
      {
        role: "assistant",
        content: "Looking.",
        reasoning: "private",
        codex_reasoning_items: [
          {
            type: "reasoning",
            id: "rs_1",
            summary: [{ type: "summary_text", text: "hm" }],
            encrypted_content: "E",
            _issuer_kind: OPENAI_KIND,
          },
        ],
        codex_message_items: [
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            phase: "commentary",
            content: [{ type: "output_text", text: "Looking." }],
            _issuer_kind: OPENAI_KIND,
          },
        ],
        tool_calls: [toolCall("call_1|fc_9", "f", '{"b": 1, "a": 2}')],
      },
      { role: "tool", content: "short text", tool_call_id: "call_1|fc_9", tool_name: "f" },
      { role: "assistant", content: " Done. " },
      { role: "user", content: " hi\uD800 ", injected: "more" },
    ]
    expect(input(messages)).toEqual([
      {
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: "data:image/png;base64,AA", detail: "auto" },
          { type: "input_text", text: "[memory]" },
        ],
      },
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "E" },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        phase: "commentary",
        content: [output("Looking.")],
      },
      { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":2,"b":1}' },
      { type: "function_call_output", call_id: "call_1", output: "short text" },
      { type: "message", role: "assistant", status: "completed", content: [output("Done.")] },
      { role: "user", content: [{ type: "input_text", text: "hi\uFFFD\n\nmore" }] },
    ])
  })

  const stored = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "E" }
  const replayed = { type: "reasoning", summary: [], encrypted_content: "E" }
  const empty = { type: "message", role: "assistant", status: "completed", content: [output("")] }

  test.each<[string, AssistantMessage, readonly object[]]>([
    [
      "reasoning of this issuer alone is followed by an empty message",
      reasoningMessage({ ...stored, _issuer_kind: OPENAI_KIND }),
      [replayed, empty],
    ],
    ["reasoning without an issuer counts as this issuer's", reasoningMessage(stored), [replayed, empty]],
    ["reasoning of another issuer is omitted", reasoningMessage({ ...stored, _issuer_kind: "xai_responses" }), []],
    ["a temporary id is skipped", reasoningMessage({ ...stored, id: "rs_tmp_1" }), []],
    [
      "reasoning that is not encrypted is skipped",
      reasoningMessage({ type: "reasoning", id: "rs_1", summary: [] }),
      [],
    ],
    [
      "reasoning before a call needs nothing more",
      { ...reasoningMessage(stored), tool_calls: [toolCall("call_1", "f", "{}")] },
      [replayed, { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" }],
    ],
    [
      "an item of another issuer is sent as plain text",
      textMessage("x", { type: "message", id: "msg_1", content: [output("x")], _issuer_kind: "codex_backend" }),
      [{ ...empty, content: [output("x")] }],
    ],
    [
      "an item whose message was changed is replaced",
      textMessage("shorter", { type: "message", id: "msg_1", content: [output("a long text")] }),
      [{ ...empty, content: [output("shorter")] }],
    ],
    [
      "an id that is too long is omitted",
      textMessage("x", { type: "message", id: "m".repeat(65), phase: "final_answer", content: [output("x")] }),
      [{ type: "message", role: "assistant", phase: "final_answer", content: [output("x")] }],
    ],
    [
      "a refusal",
      textMessage("No.", { type: "message", id: "msg_1", content: [{ type: "refusal", refusal: "No." }] }),
      [{ type: "message", id: "msg_1", role: "assistant", content: [{ type: "refusal", refusal: "No." }] }],
    ],
  ])("%s", (_name, message, expected) => {
    expect(input([message])).toEqual(expected)
  })

  test.each<[Partial<ToolCall>, string, string]>([
    [{ id: "call_1" }, "call_1", "call_1"],
    [{ id: "call_1|fc_9" }, "call_1|fc_9", "call_1"],
    [{ id: "x", call_id: "call_7" }, "x", "call_7"],
    [{ id: "x", call_id: "call_7", response_item_id: "fc_7" }, "x", "call_7"],
    [{ id: `toolu_${"a".repeat(70)}` }, `toolu_${"a".repeat(70)}`, "call_18aa4f7a5f915101cf760df25cf6d745"],
  ])("the call %j and its result have the same id", (parts, toolCallId, callId) => {
    const call = { ...toolCall("", "f", "{}"), ...parts }
    const items = input([
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", content: "ok", tool_call_id: toolCallId, tool_name: "f" },
    ])
    expect(items).toEqual([
      { type: "function_call", call_id: callId, name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: callId, output: "ok" },
    ])
  })

  const picture = [
    { type: "text", text: "a picture" },
    { type: "image_url", image_url: { url: "https://x/y.png", detail: "low" } },
  ] as const

  test.each<[string, WireEndpoint, unknown]>([
    [
      "sent where it is accepted",
      OPENAI,
      [
        { type: "input_text", text: "a picture" },
        { type: "input_image", image_url: "https://x/y.png", detail: "low" },
      ],
    ],
    ["named where it is not", XAI, "a picture\n[image not sent to this model]"],
  ])("an image in a result is %s", (_name, endpoint, expected) => {
    expect(input([{ role: "tool", content: picture, tool_call_id: "A", tool_name: "f" }], endpoint)).toEqual([
      { type: "function_call_output", call_id: "A", output: expected },
    ])
  })
})

describe("a stream", () => {
  test("with reasoning, text and two calls", async () => {
    const turn = replies({
      reasoning: ["Let me ", "look."],
      signature: "encrypted",
      text: ["Rea", "ding."],
      calls: [
        { name: "f", input: { path: "ä" }, id: "call_a", inputDeltas: ['{"pa', 'th":"ä"}'] },
        { name: "g", input: {}, id: "call_b" },
      ],
      usage: { input: 100, output: 40, cacheRead: 900, reasoning: 30 },
    })
    const { finished, events, issuer } = await served(turn)
    expect(events).toEqual([
      { type: "reasoning-delta", text: "Let me " },
      { type: "reasoning-delta", text: "look." },
      { type: "text-delta", text: "Rea" },
      { type: "text-delta", text: "ding." },
      { type: "tool-generating", tool: "f" },
      { type: "tool-generating", tool: "g" },
    ])
    expect(finished).toEqual(
      replyWith({
        content: "Reading.",
        reasoning: "Let me look.",
        finishReason: "tool_calls",
        usage: { input: 100, output: 40, cacheRead: 900, cacheWrite: 0, reasoning: 30 },
        toolCalls: [
          {
            ...toolCall("call_a", "f", '{"path":"ä"}'),
            call_id: "call_a",
            response_item_id: expect.stringMatching(/^fc_/),
          },
          { ...toolCall("call_b", "g", "{}"), call_id: "call_b", response_item_id: expect.stringMatching(/^fc_/) },
        ],
        carriers: {
          codex_reasoning_items: [
            {
              type: "reasoning",
              id: expect.stringMatching(/^rs_/),
              summary: [{ type: "summary_text", text: "Let me look." }],
              encrypted_content: "encrypted",
              _issuer_kind: issuer,
            },
          ],
          codex_message_items: [
            {
              type: "message",
              id: expect.stringMatching(/^msg_/),
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: "Reading." }],
              _issuer_kind: issuer,
            },
          ],
        },
      }),
    )
  })

  test("the items of a reply are sent back in the next request", async () => {
    await using model = await startModelServer([
      replies({
        reasoning: "hm",
        signature: "encrypted",
        text: "One.",
        calls: [{ name: "f", input: {}, id: "call_a" }],
      }),
      says("Two."),
    ])
    const endpoint = endpointOf(model.url)
    const first = replyOf((await send(endpoint, requestOf({ messages: [{ role: "user", content: "go" }] }))).finished)
    const messages: Message[] = [
      { role: "user", content: "go" },
      { role: "assistant", content: first.content, tool_calls: first.toolCalls, ...first.carriers },
      { role: "tool", content: "ok", tool_call_id: "call_a", tool_name: "f" },
    ]
    expect(replyOf((await send(endpoint, requestOf({ messages }))).finished).content).toBe("Two.")
    expect(input(messages, endpoint).slice(1)).toEqual([
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "encrypted" },
      expect.objectContaining({ type: "message", status: "completed", content: [output("One.")] }),
      { type: "function_call", call_id: "call_a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "call_a", output: "ok" },
    ])
    // Another vendor cannot decrypt the reasoning.
    expect(input(messages, XAI).map((item) => item["type"] ?? item["role"])).toEqual([
      "user",
      "message",
      "function_call",
      "function_call_output",
    ])
  })

  test.each<[string, Turn, Partial<ModelReply>]>([
    ["stop", says("hi"), { content: "hi", finishReason: "stop" }],
    ["length", says("hi", { finish: "length" }), { content: "hi", finishReason: "length" }],
    ["filter", says("hi", { finish: "content_filter" }), { content: "hi", finishReason: "content_filter" }],
    ["incomplete", says("hi", { finish: "incomplete" }), { content: "hi", finishReason: "incomplete" }],
    ["refusal", replies({ refusal: "No." }), { content: "No.", finishReason: "content_filter" }],
    ["only reasoning", replies({ reasoning: "hm" }), { content: null, finishReason: "incomplete", reasoning: "hm" }],
  ])("finishes with %s", async (_name, turn, expected) => {
    expect(replyOf((await served(turn)).finished)).toMatchObject(expected)
  })

  test("an error inside the stream is the server's error", async () => {
    const { finished } = await served(says("so far", failsInStream("rate_limit_exceeded", "slow down")))
    expect(finished.kind === "error" && JSON.parse(finished.body)).toEqual({
      error: { code: "rate_limit_exceeded", message: "slow down", param: null },
    })
  })

  test("a stream cut at any byte has a defined result and never returns half a call", async () => {
    const turn = replies({ reasoning: "hm", text: "Hi.", calls: [{ name: "f", input: { a: "b" }, id: "A" }] })
    const { bytes } = await served(turn)
    const seen = new Set<string>()
    for (let cut = 0; cut < bytes.length; cut += 7) {
      const { finished } = decodeBytes([bytes.subarray(0, cut)], { ended: false, flushed: false })
      seen.add(finished.kind === "reply" ? finished.reply.ending : finished.kind)
      if (finished.kind === "reply") {
        expect(finished.reply.toolCalls.map((call) => call.function.arguments)).toEqual(
          finished.reply.toolCalls.length === 0 ? [] : ['{"a":"b"}'],
        )
      }
    }
    expect([...seen].toSorted()).toEqual(["complete", "cut-call", "cut-text", "unusable"])
  })

  test("a connection lost inside the text keeps the text", async () => {
    const { bytes } = await served(says(["one ", "two ", "three"]))
    const cut = cutsAfter(bytes.indexOf('"two "') + 60)
    const { finished } = await served(says(["one ", "two ", "three"], cut))
    expect(finished).toMatchObject({ kind: "reply", reply: { ending: "cut-text", finishReason: "stop" } })
  })

  test("a connection lost after the message but before the end of the response is cut text", async () => {
    const { bytes } = await served(says("All of it."))
    const end = bytes.indexOf('"type":"response.completed"')
    const { finished } = decodeBytes([bytes.subarray(0, end)], { ended: false, flushed: false })
    expect(finished).toMatchObject({ kind: "reply", reply: { content: "All of it.", ending: "cut-text" } })
  })

  test("any split of the bytes results in the same reply and events", async () => {
    const { bytes } = await served(
      replies({
        reasoning: ["größer ", "🤔"],
        signature: "s",
        text: ["Hällo ", "🌍!"],
        calls: [{ name: "f", input: { π: 3 }, id: "A", inputDeltas: ['{"π":', "3}"] }],
      }),
    )
    const full = decodeBytes([bytes])
    expect(replyOf(full.finished)).toMatchObject({ content: "Hällo 🌍!", reasoning: "größer 🤔" })
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
        const points = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
        const pieces = points.slice(1).map((end, index) => bytes.subarray(points[index], end))
        expect(decodeBytes(pieces)).toEqual(full)
      }),
    )
  })
})

describe("unusual streams", () => {
  test("with an empty terminal list the finished items count, and their text is emitted", () => {
    const { finished, events } = decode([itemDone(0, message("hi")), completed([])])
    expect(events).toEqual([{ type: "text-delta", text: "hi" }])
    expect(replyOf(finished)).toMatchObject({ content: "hi", finishReason: "stop" })
  })

  test("without finished items the terminal list counts", () => {
    expect(replyOf(decode([completed([message("hi")])]).finished)).toMatchObject({
      content: "hi",
      finishReason: "stop",
    })
  })

  test("only deltas and a terminal event", () => {
    const frames = [
      { type: "response.output_text.delta", output_index: 0, delta: "hi" },
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { ...functionCall("A", "f", ""), status: "in_progress" },
      },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: '{"a":1}' },
      completed([]),
    ]
    expect(replyOf(decode(frames).finished)).toMatchObject({
      content: "hi",
      toolCalls: [toolCall("A", "f", '{"a":1}')],
      finishReason: "tool_calls",
    })
  })

  test("items that change their id with every frame are identified by their output index", () => {
    const frames = [
      { type: "response.output_item.added", output_index: 0, item: { ...message(""), id: "aaa" } },
      { type: "response.output_text.delta", output_index: 0, item_id: "bbb", delta: "hel" },
      { type: "response.output_text.delta", output_index: 0, item_id: "ccc", delta: "lo" },
      { type: "response.output_item.done", output_index: 0, item: { ...message("hello"), id: "ddd" } },
      completed([]),
    ]
    const { finished, events } = decode(frames)
    expect(events.map((event) => ("text" in event ? event.text : ""))).toEqual(["hel", "lo"])
    expect(replyOf(finished).content).toBe("hello")
  })

  test("a call whose name arrives late is emitted once", () => {
    const frames = [
      { type: "response.output_item.added", output_index: 0, item: { type: "function_call", name: "" } },
      itemDone(0, functionCall("A", "f", "{}")),
      completed([]),
    ]
    expect(decode(frames).events).toEqual([{ type: "tool-generating", tool: "f" }])
  })

  test("two messages are separated, in the events as in the history", () => {
    const frames = [
      itemDone(0, { ...message("Looking."), phase: "commentary" }),
      itemDone(1, { ...message("Done."), phase: "final_answer" }),
      completed([]),
    ]
    const { finished, events } = decode(frames)
    expect(events).toEqual([
      { type: "text-delta", text: "Looking." },
      { type: "text-delta", text: "\nDone." },
    ])
    expect(replyOf(finished)).toMatchObject({ content: "Looking.\nDone.", finishReason: "stop" })
  })

  test("summary parts are separated, and raw reasoning sent with them is not emitted again", () => {
    const summary = [
      { type: "summary_text", text: "one" },
      { type: "summary_text", text: "two" },
    ]
    const item = { type: "reasoning", id: "rs_1", summary, content: [{ type: "reasoning_text", text: "raw" }] }
    const frames = [
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "one" },
      { type: "response.reasoning_text.delta", output_index: 0, content_index: 0, delta: "raw" },
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 1, delta: "two" },
      itemDone(0, item),
      itemDone(1, { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "three" }] }),
      itemDone(2, message("hi")),
      completed([]),
    ]
    const { finished, events } = decode(frames)
    expect(events.map((event) => ("text" in event ? event.text : ""))).toEqual(["one", "\n\ntwo", "\n\nthree", "hi"])
    expect(replyOf(finished).reasoning).toBe("one\n\ntwo\n\nthree")
  })

  test.each<[string, readonly object[], Partial<ModelReply>]>([
    [
      "reasoning and a call",
      [itemDone(0, reasoning("hm")), itemDone(1, functionCall("A", "f", "{}")), completed([])],
      { finishReason: "tool_calls", content: null },
    ],
    [
      "a call that leaked into the text",
      [itemDone(0, message('I run assistant to=functions.terminal {"command":"ls"}')), completed([])],
      { finishReason: "incomplete", content: null, carriers: {} },
    ],
    [
      "similar text next to a real call",
      [itemDone(0, message("to=functions.f")), itemDone(1, functionCall("A", "f", "{}")), completed([])],
      { finishReason: "tool_calls", content: "to=functions.f" },
    ],
    [
      "only commentary",
      [itemDone(0, { ...message("I will look."), phase: "commentary" }), completed([])],
      { finishReason: "incomplete", content: "I will look." },
    ],
    [
      "a response that is still queued",
      [itemDone(0, message("x")), { type: "response.completed", response: { status: "queued" } }],
      { finishReason: "incomplete", content: "x" },
    ],
    ["an answer of nothing", [completed([])], { finishReason: "stop", content: null }],
    [
      "no terminal event, but an item",
      [itemDone(0, message("x"))],
      { finishReason: "stop", content: "x", ending: "complete" },
    ],
    ["no terminal event, but reasoning", [itemDone(0, reasoning("hm"))], { finishReason: "incomplete", content: null }],
    [
      "arguments truncated by the output limit",
      [itemDone(0, { ...functionCall("A", "f", '{"a":'), status: "incomplete" }), incomplete("max_output_tokens")],
      {
        finishReason: "length",
        toolCalls: [{ ...toolCall("A", "f", '{"a":'), call_id: "A", response_item_id: "fc_A" }],
        ending: "complete",
      },
    ],
    [
      "a complete call before a truncated one",
      [
        itemDone(0, functionCall("A", "f", "{}")),
        itemDone(1, { ...functionCall("B", "f", '{"a":'), status: "incomplete" }),
        incomplete("max_output_tokens"),
      ],
      {
        finishReason: "tool_calls",
        toolCalls: [{ ...toolCall("A", "f", "{}"), call_id: "A", response_item_id: "fc_A" }],
      },
    ],
    [
      "malformed arguments in a successful response",
      [itemDone(0, functionCall("A", "f", "{a:1")), completed([])],
      {
        finishReason: "tool_calls",
        toolCalls: [{ ...toolCall("A", "f", "{a:1"), call_id: "A", response_item_id: "fc_A" }],
      },
    ],
  ])("%s", (_name, frames, expected) => {
    expect(replyOf(decode(frames).finished)).toMatchObject(expected)
  })

  test.each<[string, object, string, string | undefined]>([
    ["no id at all", { name: "f", arguments: "{}" }, "", undefined],
    ["a call id", { name: "f", call_id: "call_abc" }, "call_abc", "fc_abc"],
    ["an odd call id", { name: "f", call_id: "weird id!" }, "weird id!", "fc_weirdid"],
    ["a joined id", { name: "f", call_id: "call_1|fc_9" }, "call_1", "fc_9"],
    ["only an item id", { name: "f", id: "fc_3" }, "fc_3", "fc_3"],
    ["arguments as an object", { name: "f", call_id: "call_abc", arguments: {} }, "call_abc", "fc_abc"],
  ])("a call with %s", (_name, item, id, itemId) => {
    const { finished } = decode([itemDone(0, { type: "function_call", ...item }), completed([])])
    expect(replyOf(finished).toolCalls).toEqual([{ ...toolCall(id, "f", "{}"), call_id: id, response_item_id: itemId }])
  })

  test.each<[string, readonly (object | string)[], DecodeResult]>([
    ["no frame", [], { kind: "unusable", received: "an empty stream" }],
    [
      "a start and no end",
      [{ type: "response.created", response: { status: "in_progress" } }],
      { kind: "unusable", received: "a stream that ended before the response did" },
    ],
    ["a damaged frame", ["<html>"], { kind: "unusable", received: "an empty stream" }],
    [
      "an error frame that contains the error",
      [{ type: "error", error: { type: "usage_limit_reached", message: "m", resets_in_seconds: 9 }, status: 429 }],
      {
        kind: "error",
        body: '{"type":"error","error":{"type":"usage_limit_reached","message":"m","resets_in_seconds":9},"status":429}',
      },
    ],
    ["an error without a type", [{ error: { message: "m" } }], { kind: "error", body: '{"error":{"message":"m"}}' }],
    [
      "a failed response",
      [{ type: "response.failed", response: { error: { code: "server_error", message: "m" } } }],
      { kind: "error", body: '{"error":{"code":"server_error","message":"m"}}' },
    ],
    [
      "a cancelled response",
      [{ type: "response.completed", response: { status: "cancelled", error: null } }],
      { kind: "error", body: '{"error":{"message":"the server reported the response as cancelled without a reason"}}' },
    ],
  ])("%s", (_name, frames, expected) => {
    expect(decode(frames).finished).toEqual(expected)
  })

  test("the type may be only in the event name, and [DONE] is ignored", () => {
    const wire = createCodexResponsesWire(OPENAI)
    const delta = { event: "response.output_text.delta", data: '{"output_index":0,"delta":"x"}' }
    const { events, finished } = decodeFrames(wire, [delta, { event: "", data: "[DONE]" }])
    expect(events).toEqual([{ type: "text-delta", text: "x" }])
    expect(finished).toMatchObject({ kind: "reply", reply: { content: "x" } })
  })
})

describe("usage", () => {
  test.each<[unknown, ModelReply["usage"]]>([
    [
      {
        input_tokens: 1000,
        input_tokens_details: { cached_tokens: 900 },
        output_tokens: 40,
        output_tokens_details: { reasoning_tokens: 30 },
      },
      { input: 100, output: 40, cacheRead: 900, cacheWrite: 0, reasoning: 30 },
    ],
    [
      { input_tokens: 10, input_tokens_details: { cached_tokens: 11 }, output_tokens: 1 },
      { input: 0, output: 1, cacheRead: 11, cacheWrite: 0, reasoning: 0 },
    ],
    [
      { input_tokens: 100, input_tokens_details: { cached_tokens: 60, cache_write_tokens: 20 }, output_tokens: 5 },
      { input: 20, output: 5, cacheRead: 60, cacheWrite: 20, reasoning: 0 },
    ],
    [
      { input_tokens: -1, output_tokens: "many" },
      { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    ],
    [null, undefined],
  ])("%j", (usage, expected) => {
    const frames = [itemDone(0, message("x")), { type: "response.completed", response: { status: "completed", usage } }]
    expect(replyOf(decode(frames).finished).usage).toEqual(expected)
  })
})

describe("a response that is not streamed", () => {
  const wire = createCodexResponsesWire(OPENAI)

  test("equals the streamed one", () => {
    const full = { status: "completed", error: null, output: [message("hi"), functionCall("A", "f", "{}")] }
    expect(wire.decodeComplete(JSON.stringify(full))).toMatchObject({
      kind: "reply",
      reply: { content: "hi", toolCalls: [toolCall("A", "f", "{}")], finishReason: "tool_calls" },
    })
  })

  test.each<[string, DecodeResult]>([
    ["<html>", { kind: "unusable", received: "something that is not JSON", notModelServer: true }],
    ["{}", { kind: "unusable", received: "JSON without output" }],
    ['{"error":{"message":"x"}}', { kind: "error", body: '{"error":{"message":"x"}}' }],
    [
      '{"status":"failed","output":[],"error":null}',
      { kind: "error", body: '{"error":{"message":"the server reported the response as failed without a reason"}}' },
    ],
  ])("%s", (text, expected) => {
    expect(wire.decodeComplete(text)).toEqual(expected)
  })
})

describe("the issuer of an item", () => {
  test.each<[string, WireEndpoint, string]>([
    ["xAI by provider", { ...OPENAI, provider: "xai-oauth" }, "xai_responses"],
    ["xAI by host", { ...XAI, provider: "custom" }, "xai_responses"],
    ["GitHub", { ...GITHUB, provider: "custom", host: "api.business.githubcopilot.com" }, "github_responses"],
    ["the back end of ChatGPT", { ...CHATGPT, provider: "custom" }, "codex_backend"],
    [
      "any other, by its URL without secrets",
      { ...OPENAI, baseUrl: "https://me:pw@h.example/v1/?k=1" },
      "other:https://h.example/v1",
    ],
    ["a look-alike", { ...OPENAI, host: "notx.ai" }, OPENAI_KIND],
  ])("%s", (_name, endpoint, kind) => {
    const { finished } = decode([itemDone(0, reasoning("hm")), itemDone(1, message("x")), completed([])], endpoint)
    expect(replyOf(finished).carriers.codex_reasoning_items).toEqual([{ ...reasoning("hm"), _issuer_kind: kind }])
  })
})

function requestOf(parts: Partial<ModelRequest>): ModelRequest {
  return { model: "m", system: "", messages: [], tools: [], ...parts }
}

function parse(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>
}

function body(parts: Partial<ModelRequest>, endpoint: WireEndpoint = OPENAI): Record<string, unknown> {
  return parse(bodyText(createCodexResponsesWire(endpoint).encode(requestOf(parts))))
}

function input(messages: readonly Message[], endpoint: WireEndpoint = OPENAI): Record<string, unknown>[] {
  return body({ messages }, endpoint)["input"] as Record<string, unknown>[]
}

function output(text: string): object {
  return { type: "output_text", text, annotations: [] }
}

function reasoningMessage(item: object): AssistantMessage {
  return { role: "assistant", content: null, codex_reasoning_items: [item] }
}

function textMessage(content: string, item: object): AssistantMessage {
  return { role: "assistant", content, codex_message_items: [item] }
}

function toolCall(id: string, name: string, args: string): ToolCall {
  return { id, type: "function", function: { name, arguments: args } }
}

function message(text: string): object {
  return { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [output(text)] }
}

function reasoning(text: string): object {
  return { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text }], encrypted_content: "E" }
}

function functionCall(id: string, name: string, args: string): object {
  return { type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: args, status: "completed" }
}

function itemDone(index: number, item: object): object {
  return { type: "response.output_item.done", output_index: index, item }
}

function completed(items: readonly object[]): object {
  return { type: "response.completed", response: { status: "completed", output: items } }
}

function incomplete(reason: string): object {
  return { type: "response.incomplete", response: { status: "incomplete", incomplete_details: { reason }, output: [] } }
}

function replyWith(parts: Partial<ModelReply>): DecodeResult {
  const nothing = { content: null, toolCalls: [], finishReason: "stop", reasoning: null, carriers: {} } as const
  return { kind: "reply", reply: { ...nothing, ending: "complete", ...parts } }
}

function replyOf(finished: DecodeResult): ModelReply {
  if (finished.kind !== "reply") throw new Error(`there is no reply: ${JSON.stringify(finished)}`)
  return finished.reply
}

interface Decoded {
  readonly finished: DecodeResult
  readonly events: readonly ModelEvent[]
}

/** Strings are raw frames; objects are encoded as JSON. */
function decode(
  frames: readonly (object | string)[],
  endpoint: WireEndpoint = OPENAI,
  connection = { ended: true },
): Decoded {
  return decodeFrames(createCodexResponsesWire(endpoint), dataFrames(frames), connection)
}

/** A lost connection leaves an incomplete frame, which is not flushed. */
function decodeBytes(
  pieces: readonly Uint8Array[],
  connection: { ended: boolean; flushed: boolean; endpoint?: WireEndpoint } = { ended: true, flushed: true },
): Decoded {
  const reader = new SseReader()
  const frames = pieces.flatMap((piece) => reader.push(piece))
  if (connection.flushed) frames.push(...reader.end())
  return decode(
    frames.map(({ data }) => data),
    connection.endpoint ?? OPENAI,
    connection,
  )
}

function endpointOf(url: string): WireEndpoint {
  return { provider: "custom", baseUrl: `${url}/v1`, host: "127.0.0.1", contextLength: 1000 }
}

async function send(endpoint: WireEndpoint, request: ModelRequest): Promise<Decoded & { readonly bytes: Buffer }> {
  const wire = createCodexResponsesWire(endpoint)
  const response = await fetch(endpoint.baseUrl + wire.path(request), {
    method: "POST",
    body: bodyText(wire.encode(request)),
  })
  const chunks: Uint8Array[] = []
  let ended = true
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk)
  } catch {
    ended = false
  }
  return { ...decodeBytes(chunks, { ended, flushed: ended, endpoint }), bytes: Buffer.concat(chunks) }
}

async function served(turn: Turn): Promise<Decoded & { readonly bytes: Buffer; readonly issuer: string }> {
  await using model = await startModelServer([turn])
  const endpoint = endpointOf(model.url)
  const response = await send(endpoint, requestOf({ messages: [{ role: "user", content: "go" }] }))
  return { ...response, issuer: `other:${endpoint.baseUrl}` }
}
