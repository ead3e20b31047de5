import { describe, expect, test } from "vitest"

import type { ModelEvent, ModelReply } from "../../model.ts"
import { dataFrames, decodeFrames } from "../../../../test/support/decode-frames.ts"
import { SseReader } from "../../http/sse.ts"
import { createAnthropicMessagesWire } from "./wire.ts"
import type { DecodeResult } from "../wire.ts"
import { fc } from "../../../../test/support/property.ts"

describe("a stream", () => {
  test("returns text and usage", () => {
    const { finished, events } = decode([
      {
        type: "message_start",
        message: { usage: { input_tokens: 200, cache_read_input_tokens: 800, output_tokens: 1 } },
      },
      { type: "ping" },
      ...textBlock(0, "Hel", "lo"),
      stops("end_turn", { output_tokens: 50, cache_creation_input_tokens: 100, input_tokens: 0 }),
      { type: "message_stop" },
    ])
    expect(finished).toEqual(
      reply({
        content: "Hello",
        usage: { input: 200, output: 50, cacheRead: 800, cacheWrite: 100, reasoning: 0 },
      }),
    )
    expect(events).toEqual([
      { type: "text-delta", text: "Hel" },
      { type: "text-delta", text: "lo" },
    ])
  })

  test("emits what the reply contains: newlines between text blocks, blank lines between thinking blocks", () => {
    const { finished, events } = decode([
      ...thinkingBlock(0, "hm", "s1"),
      ...thinkingBlock(1, "so", "s2"),
      ...textBlock(2, "a"),
      ...textBlock(3),
      ...textBlock(4, "b", "c"),
      stops("end_turn"),
    ])
    expect(events).toEqual([
      { type: "reasoning-delta", text: "hm" },
      { type: "reasoning-delta", text: "\n\nso" },
      { type: "text-delta", text: "a" },
      { type: "text-delta", text: "\nb" },
      { type: "text-delta", text: "c" },
    ])
    expect(finished).toEqual(
      reply({
        content: "a\nbc",
        reasoning: "hm\n\nso",
        carriers: {
          reasoning_details: [
            { type: "thinking", thinking: "hm", signature: "s1" },
            { type: "thinking", thinking: "so", signature: "s2" },
          ],
        },
      }),
    )
  })

  test("returns parallel calls", () => {
    const { finished, events } = decode([
      ...textBlock(0, "Let me see."),
      ...callBlock(1, "A", "f", "", '{"a"', ":1}"),
      ...callBlock(2, "B", "g"),
      ...textBlock(3, "Done."),
      stops("tool_use"),
    ])
    expect(finished).toEqual(
      reply({
        content: "Let me see.\nDone.",
        toolCalls: [call("A", "f", '{"a":1}'), call("B", "g", "{}")],
        finishReason: "tool_calls",
      }),
    )
    expect(events).toEqual([
      { type: "text-delta", text: "Let me see." },
      { type: "tool-generating", tool: "f" },
      { type: "tool-generating", tool: "g" },
    ])
  })

  test("with signed thinking between calls keeps the block order", () => {
    const { finished } = decode([
      ...thinkingBlock(0, "first", "s1"),
      ...callBlock(1, "A", "f", '{"token":"x"}'),
      ...redactedBlock(2, "opaque"),
      ...textBlock(3, "And"),
      ...callBlock(4, "B", "g", "{}"),
      stops("tool_use"),
    ])
    expect(replyOf(finished).carriers).toEqual({
      reasoning_details: [
        { type: "thinking", thinking: "first", signature: "s1" },
        { type: "redacted_thinking", data: "opaque" },
      ],
      anthropic_content_blocks: [
        { type: "thinking", thinking: "first", signature: "s1" },
        { type: "tool_use", id: "A", name: "f" },
        { type: "redacted_thinking", data: "opaque" },
        { type: "text", text: "And" },
        { type: "tool_use", id: "B", name: "g" },
      ],
    })
  })

  test.each([
    ["thinking, text, call", [...thinkingBlock(0, "a", "s"), ...textBlock(1, "b"), ...callBlock(2, "A", "f")]],
    ["no signature", [...callBlock(0, "A", "f"), ...thinkingBlock(1, "a", "")]],
    ["no call", [...textBlock(0, "a"), ...thinkingBlock(1, "b", "s"), ...textBlock(2, "c")]],
  ])("stores no block order for %s", (_name, frames) => {
    expect(replyOf(decode([...frames, stops("end_turn")]).finished).carriers.anthropic_content_blocks).toBeUndefined()
  })

  test("from a server that rejects signatures stores none", () => {
    const frames = [...callBlock(0, "A", "f"), ...thinkingBlock(1, "hm", "s"), stops("tool_use")]
    expect(replyOf(decode(frames, { host: "api.deepseek.com" }).finished).carriers).toEqual({
      reasoning_details: [{ type: "thinking", thinking: "hm" }],
    })
  })

  test.each([
    ["end_turn", "stop"],
    ["tool_use", "stop"],
    ["max_tokens", "length"],
    ["stop_sequence", "stop"],
    ["refusal", "content_filter"],
    ["model_context_window_exceeded", "length"],
    ["pause_turn", "incomplete"],
    ["something_new", "stop"],
  ])("with stop reason %s finishes with %s", (stop, expected) => {
    expect(replyOf(decode([...textBlock(0, "x"), stops(stop)]).finished).finishReason).toBe(expected)
  })

  test("with a call finishes with tool_calls even if the stop reason is end_turn", () => {
    expect(replyOf(decode([...callBlock(0, "A", "f"), stops("end_turn")]).finished).finishReason).toBe("tool_calls")
  })

  test("an explanation of a refusal is its text", () => {
    const delta = {
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: "cyber", explanation: "I cannot help with that." },
    }
    expect(decode([{ type: "message_delta", delta }]).finished).toEqual(
      reply({ content: "I cannot help with that.", finishReason: "content_filter" }),
    )
  })

  test("a message_start may already carry the content and the stop reason", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "Hello" },
    ]
    const message = { content, stop_reason: "end_turn", usage: { input_tokens: 3, output_tokens: 2 } }
    const { finished, events } = decode([{ type: "message_start", message }, { type: "message_stop" }])
    expect(finished).toMatchObject({
      kind: "reply",
      reply: { content: "Hello", reasoning: "hm", finishReason: "stop" },
    })
    expect(events).toEqual([
      { type: "reasoning-delta", text: "hm" },
      { type: "text-delta", text: "Hello" },
    ])
  })

  test("two messages in one stream are not merged", () => {
    const start = { type: "message_start", message: { content: [] } }
    expect(
      decode([start, ...textBlock(0, "One"), start, ...textBlock(0, "Two"), stops("end_turn")]).finished,
    ).toMatchObject({
      kind: "error",
    })
    // After its end the first message is complete; what follows is not part of it.
    const complete = [start, ...textBlock(0, "One"), stops("end_turn"), { type: "message_stop" }]
    expect(decode([...complete, start, ...textBlock(0, "Two")]).finished).toMatchObject({ reply: { content: "One" } })
  })

  test("without content is unusable, unless the model ended its turn", () => {
    expect(decode([stops("refusal")]).finished).toEqual(reply({ content: "", finishReason: "content_filter" }))
    expect(decode([stops("end_turn")]).finished).toEqual(reply({}))
    expect(decode([...textBlock(0), stops("tool_use")]).finished).toEqual({
      kind: "unusable",
      received: "an empty reply (stop reason: tool_use)",
    })
    expect(decode([{ type: "message_stop" }]).finished).toEqual({
      kind: "unusable",
      received: "an empty reply (stop reason: none)",
    })
    expect(decode([]).finished).toEqual({ kind: "unusable", received: "an empty stream" })
    expect(decode([{ type: "ping" }]).finished).toEqual({ kind: "unusable", received: "an empty stream" })
  })

  test("keeps the malformed arguments of a finished reply", () => {
    const { finished } = decode([...callBlock(0, "A", "f", '{"a":'), stops("max_tokens")])
    expect(finished).toEqual(reply({ toolCalls: [call("A", "f", '{"a":')], finishReason: "length" }))
  })

  test("with the complete input in the start event", () => {
    const opens = (input: object) => ({
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", name: "f", input },
    })
    const closes = { type: "content_block_stop", index: 0 }
    const calls = (frames: readonly object[]) => replyOf(decode([...frames, stops("tool_use")]).finished).toolCalls
    const [made] = calls([opens({ a: 1 }), closes])
    expect(made?.function).toEqual({ name: "f", arguments: '{"a":1}' })
    const [again] = calls([opens({ a: 1 }), delta(0, { type: "input_json_delta", partial_json: '{"a":2}' }), closes])
    expect(again?.function.arguments).toBe('{"a":2}')
  })

  test("without start events", () => {
    const { finished, events } = decode([
      delta(0, { type: "thinking_delta", thinking: "hm" }),
      delta(1, { type: "text_delta", text: "Hi" }),
      { type: "message_stop" },
      "[DONE]",
    ])
    expect(replyOf(finished)).toMatchObject({ content: "Hi", reasoning: "hm", finishReason: "stop" })
    expect(events).toHaveLength(2)
  })

  test("ignores unknown events", () => {
    const { finished } = decode([
      {
        type: "content_block_start",
        index: 0,
        content_block: { type: "server_tool_use", id: "x", name: "web_search" },
      },
      delta(0, { type: "input_json_delta", partial_json: "{}" }),
      delta(0, { type: "citations_delta", citation: {} }),
      delta(7, { type: "signature_delta", signature: "s" }),
      { type: "content_block_stop", index: 9 },
      { type: "new_event" },
      " ",
      ...textBlock(1, "x"),
      stops("end_turn"),
    ])
    expect(finished).toEqual(reply({ content: "x" }))
  })
})

describe("a truncated stream", () => {
  test.each([true, false])("after text returns the text (ended: %s)", (ended) => {
    expect(decode(textBlock(0, "Hal").slice(0, 2), { ended }).finished).toEqual(
      reply({ content: "Hal", finishReason: "stop", ending: "cut-text" }),
    )
  })

  test("inside a call returns no call", () => {
    const frames = [...textBlock(0, "Wait."), ...callBlock(1, "A", "f"), ...callBlock(2, "B", "g", '{"a":').slice(0, 2)]
    expect(decode(frames, { ended: false }).finished).toEqual(
      reply({ content: "Wait.", finishReason: "length", ending: "cut-call" }),
    )
  })

  test("before the arguments of a call returns no call", () => {
    expect(decode(callBlock(0, "A", "f").slice(0, 1), { ended: false }).finished).toEqual(
      reply({ finishReason: "length", ending: "cut-call" }),
    )
  })

  test("after complete calls returns the calls", () => {
    expect(decode(callBlock(0, "A", "f", "{}"), { ended: false }).finished).toEqual(
      reply({ toolCalls: [call("A", "f", "{}")], finishReason: "tool_calls" }),
    )
  })

  test("after its stop reason is complete", () => {
    expect(decode([...textBlock(0, "Hello"), stops("end_turn")], { ended: false }).finished).toEqual(
      reply({ content: "Hello" }),
    )
  })

  test("during thinking is unusable", () => {
    expect(decode(thinkingBlock(0, "hm", "").slice(0, 2), { ended: false }).finished).toEqual({
      kind: "unusable",
      received: "a stream that was cut off",
    })
  })
})

describe("an error inside a stream", () => {
  test.each([
    ["rate_limit_error", 429],
    ["overloaded_error", 529],
    ["something_new", 500],
  ])("%s has the status %i", (type, code) => {
    const { finished } = decode([...textBlock(0, "Hal"), { type: "error", error: { type, message: "no" } }])
    expect(finished).toEqual({
      kind: "error",
      body: JSON.stringify({ type: "error", error: { type, message: "no", code } }),
    })
  })

  test("may contain its own status, or be plain text", () => {
    const bodyOf = (frame: object): unknown => {
      const { finished } = decode([frame])
      return finished.kind === "error" ? JSON.parse(finished.body) : finished
    }
    expect(bodyOf({ type: "error", error: { message: "no", code: 503 } })).toMatchObject({ error: { code: 503 } })
    expect(bodyOf({ type: "error", error: "no" })).toEqual({ type: "error", error: { message: "no", code: 500 } })
  })

  test("does not include a damaged frame, which cuts the stream off", () => {
    expect(decode(["<html>"]).finished).toMatchObject({ kind: "unusable" })
  })
})

describe("a response that is not streamed", () => {
  const wire = createAnthropicMessagesWire(placeOf("api.anthropic.com"), {})

  test("equals the streamed reply", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "Hello" },
      { type: "tool_use", id: "A", name: "f", input: { a: 1 } },
    ]
    const usage = { input_tokens: 3, output_tokens: 1 }
    expect(wire.decodeComplete(JSON.stringify({ type: "message", content, stop_reason: "tool_use", usage }))).toEqual(
      reply({
        content: "Hello",
        toolCalls: [call("A", "f", '{"a":1}')],
        finishReason: "tool_calls",
        reasoning: "hm",
        usage: { input: 3, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
        carriers: { reasoning_details: [{ type: "thinking", thinking: "hm", signature: "s" }] },
      }),
    )
  })

  test.each([
    ["<html>", { kind: "unusable", received: "something that is not JSON", notModelServer: true }],
    ["{}", { kind: "unusable", received: "JSON without content" }],
    [
      '{"content":[],"stop_reason":"max_tokens"}',
      { kind: "unusable", received: "an empty reply (stop reason: max_tokens)" },
    ],
    [
      '{"type":"error","error":{"type":"overloaded_error","message":"x"}}',
      { kind: "error", body: '{"type":"error","error":{"type":"overloaded_error","message":"x","code":529}}' },
    ],
  ])("%s", (body, expected) => {
    expect(wire.decodeComplete(body)).toEqual(expected)
  })
})

test("any split of the bytes of a stream produces the same reply and the same events", () => {
  const recorded = [
    { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } },
    { type: "ping" },
    ...thinkingBlock(0, "größer 🤔", "c2lnbmF0dXJl"),
    ...callBlock(1, "A", "f", "", '{"π":"', "caf\\u00", "e9 🌍", '"}'),
    { type: "ping" },
    ...thinkingBlock(2, "noch einmal", "c2ln"),
    ...textBlock(3, "Hällo ", "🌍!"),
    ...callBlock(4, "B", "g", '{"a":[1,', "2]}"),
    stops("tool_use", { output_tokens: 4 }),
    { type: "message_stop" },
  ].map((frame) => `event: ${frame.type}\r\ndata: ${JSON.stringify(frame)}\r\n\r\n`)
  const bytes = Buffer.from(`: hi\n\n${recorded.join("")}`)
  const whole = decodeBytes([bytes])
  expect(replyOf(whole.finished)).toMatchObject({
    content: "Hällo 🌍!",
    reasoning: "größer 🤔\n\nnoch einmal",
    toolCalls: [call("A", "f", '{"π":"caf\\u00e9 🌍"}'), call("B", "g", '{"a":[1,2]}')],
  })
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), (cuts) => {
      const points = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      const pieces = points.slice(1).map((end, index) => bytes.subarray(points[index], end))
      expect(decodeBytes(pieces)).toEqual(whole)
    }),
  )
})

function textBlock(index: number, ...pieces: readonly string[]) {
  return block(
    index,
    { type: "text", text: "" },
    pieces.map((text) => ({ type: "text_delta", text })),
  )
}

function thinkingBlock(index: number, thinking: string, signature: string) {
  return block(index, { type: "thinking", thinking: "", signature: "" }, [
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ])
}

function redactedBlock(index: number, data: string) {
  return block(index, { type: "redacted_thinking", data }, [])
}

function callBlock(index: number, id: string, name: string, ...pieces: readonly string[]) {
  return block(
    index,
    { type: "tool_use", id, name, input: {} },
    pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
  )
}

function block(index: number, content_block: object, deltas: readonly object[]) {
  return [
    { type: "content_block_start", index, content_block },
    ...deltas.map((change) => delta(index, change)),
    { type: "content_block_stop", index },
  ]
}

function delta(index: number, change: object) {
  return { type: "content_block_delta", index, delta: change }
}

function stops(stop_reason: string, usage?: object) {
  return {
    type: "message_delta",
    delta: { stop_reason, stop_sequence: null },
    ...(usage === undefined ? {} : { usage }),
  }
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

/** Strings are frames as they are; objects are written as JSON. */
function decode(
  frames: readonly (object | string)[],
  { ended = true, host = "api.anthropic.com" }: { readonly ended?: boolean; readonly host?: string } = {},
): { finished: DecodeResult; events: ModelEvent[] } {
  return decodeFrames(createAnthropicMessagesWire(placeOf(host), {}), dataFrames(frames), { ended })
}

function decodeBytes(pieces: readonly Uint8Array[]): { finished: DecodeResult; events: ModelEvent[] } {
  const reader = new SseReader()
  const frames = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
  return decode(frames.map(({ data }) => data))
}

function placeOf(host: string) {
  return { provider: "anthropic", baseUrl: `https://${host}`, host, contextLength: 200_000 }
}
