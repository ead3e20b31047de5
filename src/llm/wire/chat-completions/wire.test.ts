import { describe, expect, test } from "vitest"

import { bodyText } from "../../../../test/support/body-text.ts"
import type { Message } from "../../../protocol/message.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "../../model.ts"
import { dataFrames, decodeFrames } from "../../../../test/support/decode-frames.ts"
import { SseReader } from "../../http/sse.ts"
import { createChatCompletionsWire } from "./wire.ts"
import type { DecodeResult, WireEndpoint } from "../wire.ts"
import { fc } from "../../../../test/support/property.ts"

const ENDPOINT: WireEndpoint = {
  provider: "test",
  baseUrl: "http://localhost:1/v1",
  host: "localhost",
  contextLength: 200_000,
}

describe("decode", () => {
  test("the name is replaced and the arguments are appended", () => {
    const { finished } = decode([
      calls({ index: 0, id: "A", function: { name: "f", arguments: '{"a"' } }),
      calls({ index: 0, function: { name: "f", arguments: ":1}" } }),
      ends("tool_calls"),
    ])
    expect(finished).toEqual(reply({ toolCalls: [call("A", "f", '{"a":1}')], finishReason: "tool_calls" }))
  })

  test("a different id at the same index is another call", () => {
    const { finished, events } = decode([
      calls({ index: 0, id: "A", function: { name: "f", arguments: "{}" } }),
      calls({ index: 0, id: "B", function: { name: "g", arguments: "{}" } }),
    ])
    expect(finished).toEqual(
      reply({ toolCalls: [call("A", "f", "{}"), call("B", "g", "{}")], finishReason: "tool_calls" }),
    )
    expect(events).toEqual([
      { type: "tool-generating", tool: "f" },
      { type: "tool-generating", tool: "g" },
    ])
  })

  test("arguments without an index belong to the last call", () => {
    const { finished } = decode([
      calls({ index: 0, id: "A", function: { name: "f", arguments: "{}" } }),
      calls({ index: 1, id: "B", function: { name: "g", arguments: '{"b"' } }),
      calls({ function: { arguments: ":2}" } }),
      ends("tool_calls"),
    ])
    expect(replyOf(finished).toolCalls).toEqual([call("A", "f", "{}"), call("B", "g", '{"b":2}')])
  })

  test("text after a call belongs to the message but is not emitted", () => {
    const { finished, events } = decode([
      says("x"),
      calls({ index: 0, id: "A", function: { name: "f", arguments: "{}" } }),
      says("y"),
      ends("tool_calls"),
    ])
    expect(replyOf(finished).content).toBe("xy")
    expect(events).toEqual([
      { type: "text-delta", text: "x" },
      { type: "tool-generating", tool: "f" },
    ])
  })

  test.each([
    ["the server ends", true],
    ["the connection is lost", false],
  ])("a call truncated inside its arguments is dropped when %s", (_name, ended) => {
    const { finished } = decode(
      [says("Wait."), calls({ index: 0, id: "A", function: { name: "f", arguments: '{"a":' } })],
      { ended },
    )
    expect(finished).toEqual(reply({ content: "Wait.", finishReason: "length", ending: "cut-call" }))
  })

  test("a call truncated before its arguments is dropped too", () => {
    const opening = calls({ index: 0, id: "A", function: { name: "f", arguments: "" } })
    expect(decode([opening], { ended: false }).finished).toEqual(reply({ finishReason: "length", ending: "cut-call" }))
  })

  test("a finished call without arguments gets an empty object", () => {
    const opening = calls({ index: 0, id: "A", function: { name: "f" } })
    const expected = reply({ toolCalls: [call("A", "f", "{}")], finishReason: "tool_calls" })
    expect(decode([opening, ends("tool_calls")]).finished).toEqual(expected)
    // Without a finish reason the arguments may still have been on their way.
    expect(decode([opening]).finished).toMatchObject({ reply: { toolCalls: [], ending: "cut-call" } })
  })

  test("a finished call keeps malformed arguments", () => {
    const { finished } = decode([
      calls({ index: 0, id: "A", function: { name: "f", arguments: '{"a":' } }),
      ends("tool_calls"),
    ])
    expect(replyOf(finished).toolCalls).toEqual([call("A", "f", '{"a":')])
  })

  test("an empty stream is unusable", () => {
    expect(decode([]).finished).toEqual({ kind: "unusable", received: "an empty stream" })
    expect(decode([role], { ended: false }).finished).toEqual({
      kind: "unusable",
      received: "a stream that was cut off",
    })
  })

  test("text before a lost connection is returned as truncated", () => {
    expect(decode([role, says("Hal")], { ended: false }).finished).toEqual(
      reply({ content: "Hal", finishReason: "stop", ending: "cut-text" }),
    )
  })

  test("a connection lost after the finish reason does not matter", () => {
    expect(decode([says("Hello"), ends("stop")], { ended: false }).finished).toEqual(reply({ content: "Hello" }))
  })

  test("a refusal without content becomes the content", () => {
    const { finished } = decode([chunk({ refusal: "no" }), ends("stop")])
    expect(finished).toEqual(reply({ content: "no", finishReason: "content_filter" }))
  })

  test.each([
    ["stop", "tool_calls"],
    ["function_call", "tool_calls"],
    ["length", "length"],
    ["content_filter", "content_filter"],
  ])("one call and finish reason %s → %s", (finish, expected) => {
    const { finished } = decode([calls({ index: 0, id: "A", function: { name: "f", arguments: "{}" } }), ends(finish)])
    expect(replyOf(finished).finishReason).toBe(expected)
  })

  test("a stream without finish reason and [DONE] was cut off, even when the connection was closed properly", () => {
    expect(decode([says("Hello")]).finished).toEqual(reply({ content: "Hello", ending: "cut-text" }))
    expect(decode([says("Hello"), "[DONE]"]).finished).toEqual(reply({ content: "Hello" }))
  })

  test("usage may arrive last, without choices", () => {
    const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 2 } }
    expect(replyOf(decode([says("Hello"), ends("stop"), usage]).finished).usage).toEqual({
      input: 10,
      output: 2,
      cacheRead: 0,
      cacheWrite: 0,
      reasoning: 0,
    })
  })

  test("usage of Groq may arrive in x_groq", () => {
    const last = { choices: [], x_groq: { id: "req_1", usage: { prompt_tokens: 10, completion_tokens: 2 } } }
    expect(replyOf(decode([says("Hello"), ends("stop"), last]).finished).usage).toMatchObject({ input: 10, output: 2 })
  })

  test("content may be a list of parts, with reasoning among them", () => {
    const thinking = [{ type: "thinking", thinking: [{ type: "text", text: "Let me see. " }], closed: false }]
    const more = [
      { type: "thinking", thinking: [{ type: "text", text: "Yes." }], closed: true },
      { type: "text", text: "It is " },
    ]
    const { finished, events } = decode([
      chunk({ content: thinking }),
      chunk({ content: more }),
      says("four."),
      ends("stop"),
    ])
    expect(replyOf(finished)).toMatchObject({ content: "It is four.", reasoning: "Let me see. Yes." })
    expect(events).toEqual([
      { type: "reasoning-delta", text: "Let me see. " },
      { type: "reasoning-delta", text: "Yes." },
      { type: "text-delta", text: "It is " },
      { type: "text-delta", text: "four." },
    ])
  })

  test("reasoning is read from all three fields and kept for the echo", () => {
    const { finished, events } = decode([
      chunk({ reasoning: "a" }),
      chunk({ reasoning_content: "b" }),
      chunk({ reasoning_details: [{ type: "reasoning.text", index: 0, text: "c" }] }),
      chunk({ reasoning_details: [{ type: "reasoning.text", index: 0, text: "d", signature: "sig" }] }),
      says("done"),
      ends("stop"),
    ])
    expect(events.map((event) => ("text" in event ? event.text : ""))).toEqual(["a", "b", "c", "d", "done"])
    expect(finished).toEqual(
      reply({
        content: "done",
        reasoning: "abcd",
        carriers: {
          reasoning_content: "b",
          reasoning_details: [{ type: "reasoning.text", index: 0, text: "cd", signature: "sig" }],
        },
      }),
    )
  })

  test.each<[string, readonly object[]]>([
    ["index 0", [{ index: 0 }, { index: 0 }]],
    ["no index", [{}, {}]],
  ])("calls without ids and with %s stay apart, in one frame or two", (_name, [first, second]) => {
    const one = { ...first, function: { name: "f", arguments: '{"a":1}' } }
    const other = { ...second, function: { name: "f", arguments: '{"a":1}' } }
    for (const frames of [
      [calls(one, other), ends("tool_calls")],
      [calls(one), calls(other), ends("tool_calls")],
    ]) {
      expect(replyOf(decode(frames).finished).toolCalls).toEqual([call("", "f", '{"a":1}'), call("", "f", '{"a":1}')])
    }
  })

  test("a name that is repeated with every piece of the arguments does not start another call", () => {
    const pieces = ['{"a"', ":1", "}", ""].map((text) => calls({ function: { name: "f", arguments: text } }))
    expect(replyOf(decode([...pieces, ends("tool_calls")]).finished).toolCalls).toEqual([call("", "f", '{"a":1}')])
  })

  test("arguments sent as an object become text", () => {
    const { finished } = decode([calls({ index: 0, id: "A", function: { name: "f", arguments: { a: 1 } } })])
    expect(replyOf(finished).toolCalls).toEqual([call("A", "f", '{"a":1}')])
  })

  test("an error inside the stream is the outcome", () => {
    const error = { error: { message: "overloaded", code: 502 } }
    expect(decode([says("Hal"), error]).finished).toEqual({ kind: "error", body: JSON.stringify(error) })
  })

  test("a damaged frame cuts the stream off; an empty frame is ignored", () => {
    expect(decode(["<html>"]).finished).toMatchObject({ kind: "unusable" })
    expect(decode([says("Hal"), '{"choices":[{"del', says("lo"), "[DONE]"]).finished).toEqual(
      reply({ content: "Hal", ending: "cut-text" }),
    )
    expect(decode([says("Hello"), "", " ", "[DONE]"]).finished).toEqual(reply({ content: "Hello" }))
  })

  test("any split of the bytes of a stream results in the same reply and events", () => {
    const stream = [role, chunk({ reasoning_content: "größer 🤔" }), says("Hällo "), says("🌍!")]
    const tools = [
      calls({ index: 0, id: "A", function: { name: "f", arguments: '{"π":' } }),
      calls({ index: 0, function: { arguments: "3}" } }),
    ]
    const usage = { choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } }
    const frames = [...stream, ...tools, ends("tool_calls"), usage].map(
      (frame) => `data: ${JSON.stringify(frame)}\r\n\r\n`,
    )
    const bytes = Buffer.from(`: hi\n\n${frames.join("")}data: [DONE]\n\n`)
    const expected = decodeBytes([bytes])
    expect(replyOf(expected.finished)).toMatchObject({ content: "Hällo 🌍!", toolCalls: [call("A", "f", '{"π":3}')] })
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
        const points = [0, ...cuts.sort((a, b) => a - b), bytes.length]
        const pieces = points.slice(1).map((end, index) => bytes.subarray(points[index], end))
        expect(decodeBytes(pieces)).toEqual(expected)
      }),
    )
  })
})

describe("usage", () => {
  test.each([
    [
      { prompt_tokens: 1000, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 800 } },
      { input: 200, output: 50, cacheRead: 800, cacheWrite: 0, reasoning: 0 },
    ],
    [
      { prompt_tokens: 100, completion_tokens: 5, cache_read_input_tokens: 60, cache_creation_input_tokens: 20 },
      { input: 20, output: 5, cacheRead: 60, cacheWrite: 20, reasoning: 0 },
    ],
    [
      { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 11 } },
      { input: 0, output: 5, cacheRead: 11, cacheWrite: 0, reasoning: 0 },
    ],
    [
      { prompt_tokens: 10, completion_tokens: 40, completion_tokens_details: { reasoning_tokens: 30 } },
      { input: 10, output: 40, cacheRead: 0, cacheWrite: 0, reasoning: 30 },
    ],
    [
      { prompt_tokens: -1, completion_tokens: "many", prompt_tokens_details: null },
      { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    ],
    [
      // Moonshot
      { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, cached_tokens: 70 },
      { input: 30, output: 5, cacheRead: 70, cacheWrite: 0, reasoning: 0 },
    ],
    [
      // Alibaba
      {
        prompt_tokens: 100,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 40, cache_creation_input_tokens: 50 },
      },
      { input: 10, output: 5, cacheRead: 40, cacheWrite: 50, reasoning: 0 },
    ],
    [
      // xAI: the completion tokens exclude reasoning
      {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 45,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { input: 10, output: 35, cacheRead: 0, cacheWrite: 0, reasoning: 30 },
    ],
    [
      // OpenAI: they include it
      {
        prompt_tokens: 10,
        completion_tokens: 35,
        total_tokens: 45,
        completion_tokens_details: { reasoning_tokens: 30 },
      },
      { input: 10, output: 35, cacheRead: 0, cacheWrite: 0, reasoning: 30 },
    ],
    [null, undefined],
  ])("%j", (usage, expected) => {
    expect(replyOf(decode([says("x"), { choices: [], usage }]).finished).usage).toEqual(expected)
  })
})

describe("decodeComplete", () => {
  const wire = createChatCompletionsWire(ENDPOINT, {})

  test("reads a reply that was not streamed", () => {
    const message = {
      role: "assistant",
      content: "Hello",
      tool_calls: [{ id: "A", type: "function", function: { name: "f", arguments: "{}" } }],
    }
    const usage = { prompt_tokens: 3, completion_tokens: 1 }
    expect(wire.decodeComplete(JSON.stringify({ choices: [{ message, finish_reason: "tool_calls" }], usage }))).toEqual(
      reply({
        content: "Hello",
        toolCalls: [call("A", "f", "{}")],
        finishReason: "tool_calls",
        usage: { input: 3, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      }),
    )
  })

  test.each([
    ["<html>", { kind: "unusable", received: "something that is not JSON", notModelServer: true }],
    ["{}", { kind: "unusable", received: "JSON without choices" }],
    ['{"id":"x","model":"m"}', { kind: "unusable", received: "JSON without choices" }],
    ['{"status":"ok"}', { kind: "unusable", received: "JSON without choices", notModelServer: true }],
    ['{"error":{"message":"x"}}', { kind: "error", body: '{"error":{"message":"x"}}' }],
  ])("%s", (body, expected) => {
    expect(wire.decodeComplete(body)).toEqual(expected)
  })
})

describe("encode", () => {
  test("sends the expected request, the messages last", () => {
    const tool = { name: "f", description: "Does f.", parameters: { type: "object" } }
    const body = encode({ model: "m", system: "Be brief.", messages: [{ role: "user", content: "hi" }], tools: [tool] })
    expect(body).toBe(
      '{"model":"m","stream":true,"stream_options":{"include_usage":true},' +
        '"tools":[{"type":"function","function":{"name":"f","description":"Does f.","parameters":{"type":"object"}}}],' +
        '"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]}',
    )
  })

  test("fields that only Hermes uses are not sent", () => {
    const messages: Message[] = [
      { role: "user", content: " hi ", injected: "[memory]", timestamp: 1, provenance: "web" },
      {
        role: "assistant",
        content: "",
        reasoning: "hm",
        reasoning_content: "hm",
        finish_reason: "tool_calls",
        anthropic_content_blocks: [{}],
        tool_calls: [
          {
            id: "A",
            type: "function",
            function: { name: "f", arguments: '{"b": 1, "a": 2}' },
            call_id: "c",
            response_item_id: "r",
            extra_content: { google: { thought_signature: "s" } },
          },
        ],
      },
      { role: "tool", content: "short text", tool_call_id: "A", tool_name: "f" },
    ]
    expect(sent({ messages })).toEqual([
      { role: "user", content: "hi\n\n[memory]" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "A", type: "function", function: { name: "f", arguments: '{"a":2,"b":1}' } }],
      },
      { role: "tool", tool_call_id: "A", content: "short text" },
    ])
  })

  test.each(["google/gemini-3-pro", "gemma-3"])("%s receives the signature of its call", (model) => {
    const wire = createChatCompletionsWire(ENDPOINT, {})
    const extra = { google: { thought_signature: "s" } }
    const made = { ...call("A", "f", "{}"), extra_content: extra }
    const request = requestOf({ messages: [{ role: "assistant", content: null, tool_calls: [made] }] })
    const callsSent = (requestedModel: string) => {
      const body = JSON.parse(bodyText(wire.encode({ ...request, model: requestedModel }))) as {
        messages: { tool_calls: unknown }[]
      }
      return body.messages[0]?.tool_calls
    }
    expect(callsSent("gpt-4o")).toEqual([call("A", "f", "{}")])
    expect(callsSent(model)).toEqual([{ ...call("A", "f", "{}"), extra_content: extra }])
  })

  test("images in a tool result are mentioned, not sent", () => {
    const content = [
      { type: "text", text: "a picture" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
    ] as const
    expect(sent({ messages: [{ role: "tool", content, tool_call_id: "A", tool_name: "f" }] })).toEqual([
      { role: "tool", tool_call_id: "A", content: "a picture\n[image not sent to this model]" },
    ])
  })

  test("lone surrogates are not sent", () => {
    expect(sent({ system: "a\uD800", messages: [{ role: "user", content: "\uDC00b" }] })).toEqual([
      { role: "system", content: "a\uFFFD" },
      { role: "user", content: "\uFFFDb" },
    ])
  })

  test.each([
    ["gpt-5.2", "developer"],
    ["openai/codex-mini", "developer"],
    ["gpt-4o", "system"],
  ])("the first message of %s has the role %s", (model, role) => {
    expect(sent({ model, system: "Be brief." })).toEqual([{ role, content: "Be brief." }])
  })

  test.each([
    ["o3-mini", "localhost", "max_completion_tokens"],
    ["openai/gpt-4o", "localhost", "max_completion_tokens"],
    ["anything", "api.openai.com", "max_completion_tokens"],
    ["anything", "me.openai.azure.com", "max_completion_tokens"],
    ["llama-3", "localhost", "max_tokens"],
    ["anything", "notapi.openai.com.example", "max_tokens"],
  ])("the output limit parameter of %s at %s is %s", (model, host, key) => {
    const wire = createChatCompletionsWire({ ...ENDPOINT, host }, { includeUsage: false })
    expect(JSON.parse(bodyText(wire.encode(requestOf({ model, maxOutputTokens: 100 }))))).toEqual({
      model,
      stream: true,
      [key]: 100,
      messages: [],
    })
  })

  test("each request of a session is a byte prefix of the next", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 })
    const message: fc.Arbitrary<Message> = fc.oneof(
      fc.record({ role: fc.constant("user" as const), content: text }),
      fc.record({ role: fc.constant("assistant" as const), content: text }),
      text.map((content) => ({ role: "tool" as const, content, tool_call_id: "A", tool_name: "f" })),
    )
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 8 }), text, (messages, system) => {
        const wire = createChatCompletionsWire(ENDPOINT, {})
        const bodies = messages.map((_, index) =>
          bodyText(wire.encode(requestOf({ system, messages: messages.slice(0, index + 1) }))),
        )
        for (const [index, body] of bodies.entries()) {
          expect(body.startsWith((bodies[index - 1] ?? "").slice(0, -"]}".length))).toBe(true)
        }
        const fresh = createChatCompletionsWire(ENDPOINT, {})
        expect(bodyText(fresh.encode(requestOf({ system, messages })))).toBe(bodies.at(-1))
      }),
    )
  })
})

const role = chunk({ role: "assistant", content: "" })

function chunk(delta: object, finish: string | null = null): object {
  return { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] }
}

function says(content: string): object {
  return chunk({ content })
}

function calls(...deltas: readonly object[]): object {
  return chunk({ tool_calls: deltas })
}

function ends(finish: string): object {
  return chunk({}, finish)
}

function call(id: string, name: string, args: string) {
  return { id, type: "function" as const, function: { name, arguments: args } }
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

function replyOf(finished: DecodeResult): ModelReply {
  if (finished.kind !== "reply") throw new Error(`there is no reply: ${JSON.stringify(finished)}`)
  return finished.reply
}

/** Strings are raw frames; objects are encoded as JSON. */
function decode(
  frames: readonly (object | string)[],
  how: { ended: boolean } = { ended: true },
): { finished: DecodeResult; events: ModelEvent[] } {
  return decodeFrames(createChatCompletionsWire(ENDPOINT, {}), dataFrames(frames), how)
}

function decodeBytes(pieces: readonly Uint8Array[]): { finished: DecodeResult; events: ModelEvent[] } {
  const reader = new SseReader()
  const frames = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
  return decode(frames.map(({ data }) => data))
}

function requestOf(parts: Partial<ModelRequest>): ModelRequest {
  return { model: "m", system: "", messages: [], tools: [], ...parts }
}

function encode(request: ModelRequest): string {
  return bodyText(createChatCompletionsWire(ENDPOINT, {}).encode(request))
}

function sent(parts: Partial<ModelRequest>): unknown {
  return (JSON.parse(encode(requestOf(parts))) as { messages: unknown }).messages
}
