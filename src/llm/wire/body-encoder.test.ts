import { describe, expect, test } from "vitest"

import { textOf } from "../../../test/support/body-text.ts"
import { fc } from "../../../test/support/property.ts"
import type { AssistantMessage, Message, Part, ReasoningCarriers, ToolMessage } from "../../protocol/message.ts"
import type { RequestBody } from "../http/request-body.ts"
import type { ModelRequest } from "../model.ts"
import { createWireCodec } from "../route.ts"
import type { WireCodec } from "../route.ts"
import { createAnthropicMessagesWire } from "./anthropic-messages/wire.ts"
import { createBedrockConverseWire } from "./bedrock-converse/wire.ts"
import { createBodyEncoder } from "./body-encoder.ts"
import { createChatCompletionsWire } from "./chat-completions/wire.ts"
import { createCodexResponsesWire } from "./codex-responses/wire.ts"
import { createGeminiWire } from "./gemini/wire.ts"
import type { EncodedRequest } from "./wire.ts"

const IMAGE: Part = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }
const TOOL = { name: "f", description: "", parameters: { type: "object", properties: {} } }

const CARRIERS: readonly ReasoningCarriers[] = [
  {},
  { reasoning: "hm", reasoning_details: [{ type: "thinking", thinking: "hm", signature: "s" }] },
  { reasoning_details: [{ type: "bedrock.reasoning", reasoningContent: { reasoningText: { text: "hm" } } }] },
  { reasoning_content: "hm" },
  { codex_reasoning_items: [{ type: "reasoning", encrypted_content: "x", id: "rs_1" }] },
]

const TEXT = fc.constantFrom("", "ok", "ünï 😀", "cut\uD800")

/** Messages in any order that a store can contain. The ids of calls are unique within an example. */
const PIECE: fc.Arbitrary<(serial: number) => readonly Message[]> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        carriers: fc.constantFrom(...CARRIERS),
        calls: fc.nat(3),
        lost: fc.nat(9),
        image: fc.nat(4),
        text: TEXT,
      })
      .map(({ carriers, calls: count, lost, image, text }) => (serial: number) => {
        const calls = Array.from({ length: count }, (_, index) => ({
          id: `c|${serial}_${index}`,
          type: "function" as const,
          function: { name: "f", arguments: '{"b":1,"a":"é"}' },
          ...(image === 1 ? { call_id: `own_${serial}_${index}` } : {}),
        }))
        const reply: AssistantMessage = {
          role: "assistant",
          content: text === "" ? null : text,
          ...(count === 0 ? {} : { tool_calls: calls }),
          ...carriers,
        }
        const results = calls.map(({ id }): ToolMessage => ({
          role: "tool",
          tool_call_id: id,
          tool_name: "f",
          content: image === 0 ? [{ type: "text", text: "a screenshot" }, IMAGE] : `result ${serial}`,
        }))
        return [reply, ...results.slice(lost === 0 ? 1 : 0)]
      }),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ text: TEXT, image: fc.nat(4), injected: fc.boolean() })
      .map(({ text, image, injected }) => (): readonly Message[] => [
        {
          role: "user",
          content: image === 0 ? [{ type: "text", text }, IMAGE] : text,
          ...(injected ? { injected: "recalled" } : {}),
        },
      ]),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<Message>(
        { role: "system", content: "a note" },
        { role: "tool", tool_call_id: "unknown", tool_name: "f", content: "a result without a call" },
      )
      .map((message) => () => [message]),
  },
)

/** What happens to a conversation between two requests. */
const STEP = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("append" as const),
      pieces: fc.array(PIECE, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom("rewind", "reshape", "compress", "other-model"), at: fc.nat(20) }),
  },
  // A request with another history, such as one for a title, or with temporary messages.
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("aside" as const),
      at: fc.nat(20),
      pieces: fc.array(PIECE, { maxLength: 3 }),
    }),
  },
)

interface WireCase {
  readonly open: () => WireCodec
  readonly models: readonly [string, string]
  readonly fields?: Partial<ModelRequest>
}

function endpointAt(host: string, provider = "custom") {
  return { provider, baseUrl: `https://${host}`, host, contextLength: 200_000 }
}

const chat = (host: string) => () => createWireCodec(createChatCompletionsWire(endpointAt(host), {}))
const anthropic = (host: string) => () => createWireCodec(createAnthropicMessagesWire(endpointAt(host), {}))

const WIRES: Readonly<Record<string, WireCase>> = {
  "Chat Completions": { open: chat("server.test"), models: ["m", "gemini-3-pro"] },
  "Chat Completions with cache markers": {
    open: () => createWireCodec(createChatCompletionsWire(endpointAt("openrouter.ai", "openrouter"), {})),
    models: ["anthropic/claude-sonnet-4-5", "openai/gpt-5"],
    fields: { cacheTtl: "5m" },
  },
  "Chat Completions at Mistral": { open: chat("api.mistral.ai"), models: ["mistral-large", "mistral-small"] },
  "Anthropic Messages": {
    open: anthropic("api.anthropic.com"),
    models: ["claude-sonnet-4-5", "claude-opus-4-6"],
    fields: { cacheTtl: "1h", effort: "medium" },
  },
  "Anthropic Messages without cache markers": {
    open: anthropic("api.anthropic.com"),
    models: ["claude-sonnet-4-5", "claude-opus-4-6"],
    fields: { effort: "medium" },
  },
  "Anthropic Messages at Kimi": { open: anthropic("api.kimi.com"), models: ["kimi-k2", "kimi-k3"] },
  "Anthropic Messages at a gateway": {
    open: anthropic("gateway.test"),
    models: ["claude-sonnet-4-5", "MiniMax-M2.5"],
    fields: { cacheTtl: "5m", effort: "medium" },
  },
  "Bedrock Converse": {
    open: () => createWireCodec(createBedrockConverseWire(endpointAt("aws.test"))),
    models: ["anthropic.claude-sonnet-4-5", "amazon.nova-pro"],
    fields: { effort: "medium" },
  },
  Responses: {
    open: () => createWireCodec(createCodexResponsesWire(endpointAt("api.openai.com"))),
    models: ["gpt-5.4", "gpt-4.1"],
  },
  Gemini: {
    open: () => createWireCodec(createGeminiWire(endpointAt("google.test"))),
    models: ["gemini-3-pro", "gemini-2.5-pro"],
  },
}

describe("the bytes of a request are those of an encoding from scratch, whatever happened before", () => {
  test.each(Object.entries(WIRES))("%s", (_name, { open, models, fields }) => {
    fc.assert(
      fc.property(fc.array(STEP, { minLength: 1, maxLength: 14 }), fc.constantFrom("", "a prompt"), (steps, system) => {
        const codec = open()
        const sent: { readonly body: RequestBody; readonly text: string }[] = []
        let messages: readonly Message[] = []
        let [model] = models
        for (const [serial, step] of steps.entries()) {
          let history = messages
          const added = "pieces" in step ? step.pieces.flatMap((piece, index) => piece(serial * 10 + index)) : []
          switch (step.kind) {
            case "append":
              history = messages = [...messages, ...added]
              break
            case "aside":
              history = [...messages.slice(0, step.at), ...added]
              break
            case "rewind":
              history = messages = messages.slice(0, step.at)
              break
            case "reshape":
              history = messages = messages.map((message, index): Message =>
                index === step.at ? { role: "user", content: "shortened" } : message,
              )
              break
            case "compress":
              history = messages = [{ role: "user", content: "a summary" }, ...messages.slice(step.at)]
              break
            default:
              model = models[step.at % 2] ?? model
          }
          const request = { model, system, messages: history, tools: [TOOL], ...fields }
          const body = codec.encode(request)
          const text = textOf(body)
          expect(text).toBe(textOf(open().encode(request)))
          expect(body.byteLength).toBe(Buffer.byteLength(text))
          sent.push({ body, text })
        }
        // A request may still be on its way while later ones are encoded.
        for (const { body, text } of sent) expect(textOf(body)).toBe(text)
      }),
      { numRuns: 200 },
    )
  })
})

describe("createBodyEncoder", () => {
  /** Counts how often each message is encoded. */
  function createCounter() {
    const counts = new Map<Message, number>()
    const encoded = (messages: readonly Message[]): EncodedRequest => ({
      head: '{"messages":[',
      preface: "",
      history: {
        messages,
        format: "",
        settled: messages.length,
        encode: (from, to) =>
          messages
            .slice(from, to)
            .map((message) => {
              counts.set(message, (counts.get(message) ?? 0) + 1)
              return JSON.stringify(message)
            })
            .join(","),
      },
    })
    return { counts, encoded }
  }

  function rounds(count: number): readonly Message[] {
    return Array.from({ length: count }, (_, index): readonly Message[] => [
      { role: "assistant", content: `${index}` },
      { role: "user", content: `after ${index}` },
    ]).flat()
  }

  test("encodes a message when it is new and when its round is complete, and never again", () => {
    const { counts, encoded } = createCounter()
    const encode = createBodyEncoder()
    const history = rounds(50)
    for (let length = 2; length <= history.length; length += 2) encode(encoded(history.slice(0, length)))
    expect(Math.max(...counts.values())).toBe(2)
    expect(textOf(encode(encoded(history)))).toBe(JSON.stringify({ messages: history }))
  })

  test("sends the bytes of old messages from where they are", () => {
    const { encoded } = createCounter()
    const encode = createBodyEncoder()
    const history = rounds(50)
    const [, first] = encode(encoded(history.slice(0, 98))).chunks
    const [, second] = encode(encoded(history)).chunks
    expect(second?.buffer).toBe(first?.buffer)
  })

  test("a single request with another history does not discard the stored bytes, two in a row do", () => {
    const { counts, encoded } = createCounter()
    const encode = createBodyEncoder()
    const [history, other] = [rounds(20), rounds(5)]
    encode(encoded(history))
    encode(encoded(other))
    counts.clear()
    encode(encoded(history))
    expect(counts.size).toBe(2)
    encode(encoded(other))
    encode(encoded(other))
    counts.clear()
    encode(encoded(other))
    expect(counts.size).toBe(2)
  })
})
