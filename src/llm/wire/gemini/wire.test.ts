import { describe, expect, test } from "vitest"

import { bodyText } from "../../../../test/support/body-text.ts"
import { dataFrames, decodeFrames } from "../../../../test/support/decode-frames.ts"
import { startModelServer } from "../../../../test/support/model-server/server.ts"
import { reply as replies } from "../../../../test/support/model-server/turn.ts"
import type { Message } from "../../../protocol/message.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "../../model.ts"
import { SseReader } from "../../http/sse.ts"
import { createGeminiWire } from "./wire.ts"
import type { DecodeResult, WireEndpoint } from "../wire.ts"
import { fc } from "../../../../test/support/property.ts"

const ENDPOINT: WireEndpoint = {
  provider: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta",
  host: "generativelanguage.googleapis.com",
  contextLength: 1_048_576,
}
const TOOL = { name: "f", description: "does f", parameters: { type: "object", properties: { a: { type: "number" } } } }
const USER = { role: "user", content: "go" } as const
const USER_SENT = { role: "user", parts: [{ text: "go" }] }

describe("encode: contents", () => {
  test.each<[string, readonly Message[], unknown]>([
    [
      "two results of one reply are one content, with the names of their calls",
      [
        USER,
        { role: "assistant", content: "calling", tool_calls: [call("A", "f", '{"a":1}'), call("B", "g", "{bad")] },
        { ...result("A", '{"a":1}'), tool_name: "other" },
        result("B", "hi"),
      ],
      [
        USER_SENT,
        {
          role: "model",
          parts: [
            { text: "calling" },
            { functionCall: { name: "f", args: { a: 1 } } },
            { functionCall: { name: "g", args: {} } },
          ],
        },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "f", response: { a: 1 } } },
            { functionResponse: { name: "g", response: { output: "hi" } } },
          ],
        },
      ],
    ],
    [
      "a stored signature is sent back with its call",
      [
        USER,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { ...call("A", "f", "{}"), extra_content: { google: { thought_signature: "s" } } },
            call("B", "f", "{}"),
          ],
        },
      ],
      [
        USER_SENT,
        {
          role: "model",
          parts: [
            { functionCall: { name: "f", args: {} }, thoughtSignature: "s" },
            { functionCall: { name: "f", args: {} } },
          ],
        },
      ],
    ],
    [
      "a history that starts with the model",
      [{ role: "assistant", content: "hi" }],
      [
        { role: "user", parts: [{ text: " " }] },
        { role: "model", parts: [{ text: "hi" }] },
      ],
    ],
    [
      "consecutive messages, empty texts, injected text",
      [
        { role: "user", content: "" },
        { role: "user", content: "b", injected: "memory" },
        { role: "assistant", content: null },
      ],
      [
        { role: "user", parts: [{ text: " " }, { text: "b" }, { text: "memory" }] },
        { role: "model", parts: [{ text: " " }] },
      ],
    ],
    [
      "images",
      [
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } },
            { type: "image_url", image_url: { url: "https://example.org/cat.png" } },
          ],
        },
      ],
      [
        {
          role: "user",
          parts: [
            { text: "look" },
            { inlineData: { mimeType: "image/png", data: "AAEC" } },
            { text: "[image not sent: https://example.org/cat.png]" },
          ],
        },
      ],
    ],
    [
      "an image in a result follows it",
      [
        USER,
        { role: "assistant", content: null, tool_calls: [call("A", "f", "{}")] },
        {
          ...result("A", ""),
          content: [
            { type: "text", text: "shot" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } },
          ],
        },
      ],
      [
        USER_SENT,
        { role: "model", parts: [{ functionCall: { name: "f", args: {} } }] },
        {
          role: "user",
          parts: [
            { functionResponse: { name: "f", response: { output: "shot" } } },
            { inlineData: { mimeType: "image/png", data: "AAEC" } },
          ],
        },
      ],
    ],
  ])("%s", (_name, messages, expected) => {
    expect(sent({ messages, tools: [TOOL] })["contents"]).toEqual(expected)
  })

  test.each([
    ['{"a":1}', { a: 1 }],
    ["hi", { output: "hi" }],
    ["[1]", { output: "[1]" }],
    ["", { output: "" }],
    ["null", { output: "null" }],
  ])("the result %j is the response %j", (content, response) => {
    expect(sent({ messages: [result("A", content)] })["contents"]).toEqual([
      { role: "user", parts: [{ functionResponse: { name: "f", response } }] },
    ])
  })

  test("Gemini 3 gets the documented placeholder signature for another model's calls, once per reply", () => {
    const wire = createGeminiWire(ENDPOINT)
    const messages: Message[] = [
      USER,
      { role: "assistant", content: null, tool_calls: [call("A", "f", "{}"), call("B", "f", "{}")] },
    ]
    const parts = (model: string) =>
      (JSON.parse(bodyText(wire.encode(requestOf({ model, messages })))) as { contents: { parts: unknown }[] })
        .contents[1]?.parts
    const plain = { functionCall: { name: "f", args: {} } }
    expect(parts("gemini-3-pro-preview")).toEqual([
      { ...plain, thoughtSignature: "skip_thought_signature_validator" },
      plain,
    ])
    expect(parts("gemini-2.5-pro")).toEqual([plain, plain])
  })

  test("lone surrogates are not sent", () => {
    const body = sent({ system: "a\uD800", messages: [{ role: "user", content: "\uDC00b" }, result("A", "\uDC00")] })
    expect([body["systemInstruction"], body["contents"]]).toEqual([
      { parts: [{ text: "a\uFFFD" }] },
      [
        { role: "user", parts: [{ text: "\uFFFDb" }] },
        { role: "user", parts: [{ functionResponse: { name: "f", response: { output: "\uFFFD" } } }] },
      ],
    ])
  })
})

describe("encode: everything else", () => {
  test("a full request, contents last", () => {
    const request = requestOf({
      model: "gemini-2.0-flash",
      system: "Be brief.",
      messages: [USER],
      tools: [TOOL],
      temperature: 0.3,
    })
    expect(bodyText(createGeminiWire(ENDPOINT).encode(request))).toBe(
      '{"systemInstruction":{"parts":[{"text":"Be brief."}]},"generationConfig":{"maxOutputTokens":65535,"temperature":0.3},' +
        '"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"tools":[{"functionDeclarations":[' +
        '{"name":"f","description":"does f","parameters":{"type":"object","properties":{"a":{"type":"number"}}}}]}],' +
        '"contents":[{"role":"user","parts":[{"text":"go"}]}]}',
    )
  })

  test.each([
    ["gemini-2.5-pro", "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"],
    ["models/gemini-2.5-pro", "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"],
    ["google/gemini-2.5-pro", "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"],
    ["odd/name?", "/models/odd%2Fname%3F:streamGenerateContent?alt=sse"],
  ])("the path of %s", (model, path) => {
    expect(createGeminiWire(ENDPOINT).path(requestOf({ model }))).toBe(path)
  })

  test.each<[string, ModelRequest["effort"], unknown]>([
    ["gemini-2.5-pro", "high", { includeThoughts: true }],
    ["gemini-2.5-flash", undefined, { includeThoughts: true }],
    ["gemini-2.5-pro", "none", { includeThoughts: false }],
    ["gemini-3-flash-preview", "xhigh", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3-flash-preview", "medium", { includeThoughts: true, thinkingLevel: "medium" }],
    ["gemini-3-flash-preview", "minimal", { includeThoughts: true, thinkingLevel: "low" }],
    ["gemini-3-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "low" }],
    ["gemini-3.1-pro-preview", "high", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3-pro-preview", "xhigh", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3-pro-preview", undefined, { includeThoughts: true }],
    ["gemini-3-pro-preview", "none", { includeThoughts: false }],
    ["gemma-3-27b-it", "high", undefined],
    ["gemini-2.0-flash", "high", undefined],
    ["gemini-1.5-pro", "high", undefined],
  ])("the thinking of %s with effort %s", (model, effort, expected) => {
    const body = sent({ model, ...(effort === undefined ? {} : { effort }) })
    expect((body["generationConfig"] as Record<string, unknown>)["thinkingConfig"]).toEqual(expected)
  })

  test.each([
    ["auto", "AUTO"],
    ["required", "ANY"],
    ["none", "NONE"],
  ] as const)("the tool choice %s", (toolChoice, mode) => {
    expect(sent({ tools: [TOOL], toolChoice })["toolConfig"]).toEqual({ functionCallingConfig: { mode } })
    expect(sent({ toolChoice })["toolConfig"]).toBe(undefined)
  })

  test("a tool without parameters declares none", () => {
    const tool = { name: "g", description: "d", parameters: { type: "object", properties: {} } }
    expect(sent({ tools: [tool] })["tools"]).toEqual([{ functionDeclarations: [{ name: "g", description: "d" }] }])
  })

  test("the output limit", () => {
    expect(sent({ model: "m", maxOutputTokens: 100 })["generationConfig"]).toEqual({ maxOutputTokens: 100 })
    const small = createGeminiWire({ ...ENDPOINT, contextLength: 8192 })
    expect(JSON.parse(bodyText(small.encode(requestOf({}))))).toMatchObject({
      generationConfig: { maxOutputTokens: 8191 },
    })
  })

  test("each request of a conversation is a byte prefix of the next", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 })
    const exchange = fc.record({ user: text, calls: fc.nat(2), output: text, answer: text })
    fc.assert(
      fc.property(fc.array(exchange, { minLength: 1, maxLength: 5 }), text, (exchanges, system) => {
        const wire = createGeminiWire(ENDPOINT)
        const messages: Message[] = []
        const bodies: string[] = []
        const ask = () =>
          bodies.push(bodyText(wire.encode(requestOf({ system, messages: [...messages], tools: [TOOL] }))))
        for (const [turn, { user, calls, output, answer }] of exchanges.entries()) {
          messages.push({ role: "user", content: user })
          ask()
          const ids = Array.from({ length: calls }, (_, index) => `c${turn}-${index}`)
          if (calls > 0) {
            const made = ids.map((id) => call(id, "f", "{}"))
            messages.push(
              { role: "assistant", content: null, tool_calls: made },
              ...ids.map((id) => result(id, output)),
            )
            ask()
          }
          messages.push({ role: "assistant", content: answer })
          ask()
        }
        for (const [index, body] of bodies.entries()) {
          expect(body.startsWith((bodies[index - 1] ?? "").slice(0, -"]}".length))).toBe(true)
        }
        expect(bodyText(createGeminiWire(ENDPOINT).encode(requestOf({ system, messages, tools: [TOOL] })))).toBe(
          bodies.at(-1),
        )
      }),
    )
  })
})

describe("decode", () => {
  test("reasoning, text, calls with their signature, usage", () => {
    const { finished, events } = decode([
      parts({ text: "hm ", thought: true }),
      parts({ text: "Hel" }, { text: "lo" }),
      parts({ functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "s" }),
      parts({ functionCall: { id: "B", name: "g" } }, { text: "later" }),
      {
        ...ends("STOP"),
        usageMetadata: {
          promptTokenCount: 1000,
          cachedContentTokenCount: 900,
          candidatesTokenCount: 10,
          thoughtsTokenCount: 30,
          totalTokenCount: 1040,
        },
      },
    ])
    expect(finished).toEqual(
      reply({
        content: "Hellolater",
        reasoning: "hm ",
        toolCalls: [
          { ...call("", "f", '{"a":1}'), extra_content: { google: { thought_signature: "s" } } },
          call("B", "g", "{}"),
        ],
        finishReason: "tool_calls",
        usage: { input: 100, output: 40, cacheRead: 900, cacheWrite: 0, reasoning: 30 },
      }),
    )
    expect(events).toEqual([
      { type: "reasoning-delta", text: "hm " },
      { type: "text-delta", text: "Hel" },
      { type: "text-delta", text: "lo" },
      { type: "tool-generating", tool: "f" },
      { type: "tool-generating", tool: "g" },
    ])
  })

  test.each([
    ["STOP", "stop"],
    ["OTHER", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["BLOCKLIST", "content_filter"],
    ["SPII", "content_filter"],
  ])("the finish reason %s is %s", (finish, finishReason) => {
    expect(decode([parts({ text: "x" }), ends(finish)]).finished).toEqual(
      reply({ content: "x", finishReason: finishReason as ModelReply["finishReason"] }),
    )
  })

  test("a blocked prompt is a filtered reply", () => {
    const usageMetadata = { promptTokenCount: 5 }
    expect(decode([{ promptFeedback: { blockReason: "SAFETY" }, usageMetadata }]).finished).toEqual(
      reply({
        finishReason: "content_filter",
        usage: { input: 5, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      }),
    )
  })

  test("more cached tokens than prompt tokens count as no new input", () => {
    const usageMetadata = { promptTokenCount: 5, cachedContentTokenCount: 9 }
    expect(decode([{ ...ends("STOP"), usageMetadata }]).finished).toEqual(
      reply({ usage: { input: 0, output: 0, cacheRead: 9, cacheWrite: 0, reasoning: 0 } }),
    )
  })

  test.each([true, false])("a stream without finish reason was truncated (connection ended: %s)", (ended) => {
    expect(decode([parts({ text: "Hal" })], { ended }).finished).toEqual(reply({ content: "Hal", ending: "cut-text" }))
    expect(decode([parts({ text: "hm", thought: true })], { ended }).finished).toEqual({
      kind: "unusable",
      received: "a stream that was cut off",
    })
    expect(decode([parts({ functionCall: { id: "A", name: "f", args: {} } })], { ended }).finished).toEqual(
      reply({ toolCalls: [call("A", "f", "{}")], finishReason: "tool_calls" }),
    )
  })

  test("an empty stream is unusable", () => {
    expect(decode([]).finished).toEqual({ kind: "unusable", received: "an empty stream" })
  })

  test("an error inside the stream has its status as code", () => {
    const error = { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } }
    expect(decode([parts({ text: "x" }), error]).finished).toEqual({ kind: "error", body: JSON.stringify(error) })
  })

  test("a damaged frame cuts the stream off", () => {
    expect(decode(["{"]).finished).toMatchObject({ kind: "unusable" })
    expect(decode([parts({ text: "x" }), "{", parts({ text: "y" })]).finished).toEqual(
      reply({ content: "x", ending: "cut-text" }),
    )
  })

  test.each([
    ["<html>", { kind: "unusable", received: "something that is not JSON", notModelServer: true }],
    ['{"ok":true}', { kind: "unusable", received: "JSON without candidates" }],
    ["[]", { kind: "unusable", received: "JSON without candidates" }],
    ['[{"error":{"code":400,"message":"no"}}]', { kind: "error", body: '{"error":{"code":400,"message":"no"}}' }],
  ])("the body %s", (body, expected) => {
    expect(createGeminiWire(ENDPOINT).decodeComplete(body)).toEqual(expected)
  })

  test("a stream sent as one list is a reply", () => {
    const body = JSON.stringify([parts({ text: "Hel" }), parts({ text: "lo" }), ends("STOP")])
    expect(createGeminiWire(ENDPOINT).decodeComplete(body)).toEqual(reply({ content: "Hello" }))
  })
})

test("any split of the model server's stream, and its complete document, result in the same reply", async () => {
  const answer = {
    reasoning: ["Let me ", "see 🤔."],
    signature: "signed",
    text: ["Grüße ", "und 👋."],
    calls: [
      { name: "f", input: { a: 1, text: 'ä\\"' }, id: "A" },
      { name: "g", input: {}, id: "B" },
    ],
    usage: { input: 7, output: 9, cacheRead: 3, reasoning: 4 },
  } as const
  const expected = reply({
    content: "Grüße und 👋.",
    reasoning: "Let me see 🤔.",
    toolCalls: [
      {
        ...call("A", "f", '{"a":1,"text":"ä\\\\\\""}'),
        extra_content: { google: { thought_signature: "signed" } },
      },
      call("B", "g", "{}"),
    ],
    finishReason: "tool_calls",
    usage: { input: 7, output: 9, cacheRead: 3, cacheWrite: 0, reasoning: 4 },
  })
  await using server = await startModelServer([replies(answer), replies(answer)])
  const wire = createGeminiWire(ENDPOINT)
  const request = requestOf({ messages: [USER], tools: [TOOL] })
  const post = async (path: string) => {
    const response = await fetch(server.url + path, { method: "POST", body: bodyText(wire.encode(request)) })
    return Buffer.from(await response.arrayBuffer())
  }
  const bytes = await post(wire.path(request))
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
      const reader = new SseReader()
      const points = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const frames = points.slice(1).flatMap((end, index) => reader.push(bytes.subarray(points[index], end)))
      expect(decode([...frames, ...reader.end()].map(({ data }) => data)).finished).toEqual(expected)
    }),
  )
  const complete = await post("/models/gemini-2.5-pro:generateContent")
  expect(wire.decodeComplete(complete.toString())).toEqual(expected)
})

function call(id: string, name: string, args: string) {
  return { id, type: "function" as const, function: { name, arguments: args } }
}

function result(id: string, content: string) {
  return { role: "tool" as const, content, tool_call_id: id, tool_name: "f" }
}

function parts(...list: readonly object[]): object {
  return { candidates: [{ content: { parts: list, role: "model" }, index: 0 }] }
}

function ends(finishReason: string): object {
  return { candidates: [{ content: { parts: [{ text: "" }], role: "model" }, finishReason, index: 0 }] }
}

/** Strings are raw frames; objects are encoded as JSON. */
function decode(
  frames: readonly (object | string)[],
  how: { ended: boolean } = { ended: true },
): { finished: DecodeResult; events: ModelEvent[] } {
  return decodeFrames(createGeminiWire(ENDPOINT), dataFrames(frames), how)
}

function reply(fields: Partial<ModelReply>): DecodeResult {
  return {
    kind: "reply",
    reply: {
      content: null,
      toolCalls: [],
      finishReason: "stop",
      reasoning: null,
      carriers: {},
      ending: "complete",
      ...fields,
    },
  }
}

function requestOf(fields: Partial<ModelRequest>): ModelRequest {
  return { model: "gemini-2.5-pro", system: "", messages: [], tools: [], ...fields }
}

function sent(fields: Partial<ModelRequest>): Record<string, unknown> {
  return JSON.parse(bodyText(createGeminiWire(ENDPOINT).encode(requestOf(fields)))) as Record<string, unknown>
}
