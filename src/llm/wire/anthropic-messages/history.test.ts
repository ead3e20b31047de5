import { describe, expect, test } from "vitest"

import { bodyText } from "../../../../test/support/body-text.ts"
import type { AssistantMessage, Message, ToolMessage } from "../../../protocol/message.ts"
import type { ModelRequest } from "../../model.ts"
import { createAnthropicMessagesWire } from "./wire.ts"
import type { WireEndpoint } from "../wire.ts"
import { fc } from "../../../../test/support/property.ts"

describe("messages", () => {
  test.each<[string, Message[], unknown]>([
    ["none", [], []],
    [
      "a tool result without text",
      [user("go"), callsTools("A"), result("A", "")],
      [says("user", "go"), uses("A"), results(["A", "(no output)"])],
    ],
    [
      "two results after one assistant message",
      [user("go"), callsTools("A", "B"), result("A", "1"), result("B", "2")],
      [says("user", "go"), uses("A", "B"), results(["A", "1"], ["B", "2"])],
    ],
    [
      "an id with characters the server rejects",
      [user("go"), callsTools("call:1/2"), result("call:1/2", "1")],
      [says("user", "go"), uses("call_1_2"), results(["call_1_2", "1"])],
    ],
    [
      "an empty id",
      [user("go"), callsTools(""), result("", "1")],
      [says("user", "go"), uses("tool_0"), results(["tool_0", "1"])],
    ],
    [
      "a call whose arguments are not a JSON object",
      [user("go"), { role: "assistant", content: null, tool_calls: [call("A", "{bad"), call("B", "[1]")] }, ...ab],
      [says("user", "go"), uses("A", "B"), results(["A", "1"], ["B", "2"])],
    ],
    ["consecutive messages of one role", [user("a"), user("b")], [says("user", "a", "b")]],
    ["an assistant message first", [assistant("hi")], [says("user", "(empty message)"), says("assistant", "hi")]],
    [
      "an empty message",
      [user(" "), assistant(""), { role: "user", content: [] }],
      [says("user", "(empty message)"), says("assistant", "(empty message)"), says("user", "(empty message)")],
    ],
    [
      "a call without its result",
      [user("go"), callsTools("A", "B"), result("B", "2"), assistant("ok"), callsTools("C"), user("stop")],
      [says("user", "go"), uses("B"), results(["B", "2"]), says("assistant", "ok"), says("user", "stop")],
    ],
    [
      "only a call without its result",
      [user("go"), callsTools("A"), user("stop")],
      [says("user", "go"), says("assistant", "(tool call removed)"), says("user", "stop")],
    ],
    [
      "a result without its call",
      [user("go"), assistant("ok"), result("A", "1"), user("x"), assistant("ok"), result("B", "2")],
      [
        says("user", "go"),
        says("assistant", "ok"),
        says("user", "x"),
        says("assistant", "ok"),
        says("user", "(tool result removed)"),
      ],
    ],
    [
      "text between a call and its result",
      [user("go"), callsTools("A"), user("and?"), result("A", "1")],
      [
        says("user", "go"),
        uses("A"),
        { role: "user", content: [resultBlock("A", "1"), { type: "text", text: "and?" }] },
      ],
    ],
    [
      "fields that only Hermes uses",
      [
        { role: "user", content: " hi ", injected: "[memory]", timestamp: 1, provenance: "web" },
        { role: "assistant", content: "ok ", reasoning: "hm", finish_reason: "stop", codex_message_items: [{}] },
        { role: "user", content: "", injected: "[memory]" },
      ],
      [says("user", "hi\n\n[memory]"), says("assistant", "ok"), says("user", "[memory]")],
    ],
    ["half a surrogate pair", [user("a\uD800")], [says("user", "a\uFFFD")]],
  ])("%s", (_name, messages, expected) => {
    expect(sent(messages)).toEqual(expected)
  })

  test("arguments are sent in canonical form", () => {
    const asking: AssistantMessage = { role: "assistant", content: null, tool_calls: [call("A", '{"b": 1, "a": 2}')] }
    expect(bodyText(wireAt().encode(requestOf([user("go"), asking, result("A", "1")])))).toContain(
      '{"type":"tool_use","id":"A","name":"f","input":{"a":2,"b":1}}',
    )
  })
})

describe("images", () => {
  const picture = (url: string) => ({ type: "image_url" as const, image_url: { url } })

  test("in user messages", () => {
    const parts = [
      { type: "text" as const, text: "look" },
      picture("data:image/png;base64,AAAA"),
      picture("https://example.org/a.png"),
      picture("file:///a.png"),
    ]
    expect(sent([{ role: "user", content: parts, injected: "[memory]" }])).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          { type: "image", source: { type: "url", url: "https://example.org/a.png" } },
          { type: "text", text: "[image not sent]" },
          { type: "text", text: "[memory]" },
        ],
      },
    ])
  })

  test("in tool results: only the three newest are sent", () => {
    const shot = (id: string): Message[] => [
      callsTools(id),
      { ...result(id, ""), content: [{ type: "text", text: id }, picture("data:image/png;base64,AAAA")] },
    ]
    const messages = [user("go"), ...["A", "B", "C", "D"].flatMap(shot)]
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }
    const left = { type: "text", text: "[older image left out]" }
    expect(sent(messages).slice(1)).toEqual(
      ["A", "B", "C", "D"].flatMap((id) => [
        uses(id),
        { role: "user", content: [resultBlock(id, [{ type: "text", text: id }, id === "A" ? left : image])] },
      ]),
    )
  })
})

describe("thinking", () => {
  const signed = { type: "thinking", thinking: "hm", signature: "s" }
  const redacted = { type: "redacted_thinking", data: "d" }
  const thinks = (...reasoning_details: unknown[]): AssistantMessage => ({ ...assistant("ok"), reasoning_details })
  const only = (...reasoning_details: unknown[]): AssistantMessage => ({ ...assistant(""), reasoning_details })
  const text = (content: string) => ({ type: "text", text: content })

  test.each<[string, Partial<WireEndpoint>, Message[], unknown]>([
    ["signed, latest", {}, [user("a"), thinks(signed, redacted)], [signed, redacted, text("ok")]],
    ["signed, latest, followed by a user message", {}, [user("a"), thinks(signed), user("b")], [signed, text("ok")]],
    ["signed, two turns ago", {}, [user("a"), thinks(signed), user("b"), assistant("c")], [text("ok")]],
    [
      "only signed, two turns ago",
      {},
      [user("a"), only(signed), user("b"), assistant("c")],
      [text("(thinking elided)")],
    ],
    ["unsigned, latest", {}, [user("a"), only({ type: "thinking", thinking: "hm" })], [text("hm")]],
    [
      "text from another wire format, latest",
      {},
      [user("a"), { ...assistant(""), reasoning_content: "hm" }],
      [text("hm")],
    ],
    [
      "unsigned, two turns ago",
      {},
      [user("a"), thinks({ type: "thinking", thinking: "hm" }), user("b"), assistant("c")],
      [text("ok")],
    ],
    ["display text only", {}, [user("a"), { ...assistant("ok"), reasoning: "hm" }], [text("ok")]],
    ["redacted without data", {}, [user("a"), thinks({ type: "redacted_thinking" })], [text("ok")]],
    ["blocks of another wire format", {}, [user("a"), thinks({ type: "reasoning.text", text: "hm" }, 7)], [text("ok")]],
    ["keys the server rejects", {}, [user("a"), thinks({ ...signed, index: 0, format: "x" })], [signed, text("ok")]],
    ["signed, MiniMax", { provider: "minimax", host: "api.minimax.io" }, [user("a"), thinks(signed)], [text("ok")]],
    ["only signed, MiniMax", { host: "api.minimax.io" }, [user("a"), only(signed)], [text("(thinking elided)")]],
    [
      "signed, a host that only resembles Anthropic's",
      { host: "api.anthropic.com.evil.com" },
      [user("a"), thinks(signed)],
      [text("ok")],
    ],
    ["signed, Kimi", { host: "api.kimi.com" }, [user("a"), thinks(signed, redacted)], [text("ok")]],
    [
      "unsigned, DeepSeek, two turns ago",
      { host: "api.deepseek.com" },
      [user("a"), thinks({ type: "thinking", thinking: "hm" }), user("b"), assistant("c")],
      [{ type: "thinking", thinking: "hm" }, text("ok")],
    ],
    [
      "in a turn whose call was removed",
      {},
      [user("a"), { ...thinks(signed, redacted), tool_calls: [call("A")] }],
      [text("hm"), text("ok")],
    ],
    ["in the second of two joined messages", {}, [user("a"), assistant("x"), thinks(signed)], [text("x"), text("ok")]],
  ])("%s", (_name, endpoint, messages, expected) => {
    expect(sent(messages, endpoint)[1]).toEqual({ role: "assistant", content: expected })
  })

  test("is kept in all messages of the current tool loop", () => {
    const step = (id: string): Message[] => [
      { role: "assistant", content: null, reasoning_details: [{ ...signed, thinking: id }], tool_calls: [call(id)] },
      result(id, "1"),
    ]
    const first = [user("a"), ...step("A")]
    const second = [...first, ...step("B")]
    const wire = wireAt()
    const bodies = [first, second].map((messages) => bodyText(wire.encode(requestOf(messages))))
    expect(bodies[1]?.startsWith(bodies[0]?.slice(0, -"]}".length) ?? "-")).toBe(true)
    expect(bodies[1]?.match(/"signature":"s"/g)).toHaveLength(2)
    expect(bodyText(wire.encode(requestOf([...second, assistant("ok"), user("b"), assistant("c")])))).not.toContain(
      "signature",
    )
  })

  describe("between calls", () => {
    const ordered: AssistantMessage = {
      role: "assistant",
      content: "Now B",
      tool_calls: [call("A", '{"token":"***"}'), call("B:1")],
      reasoning_details: [signed, signed],
      anthropic_content_blocks: [
        { ...signed, index: 0 },
        { type: "tool_use", id: "A", name: "f", input: { token: "secret" } },
        signed,
        { type: "text", text: "Now B", citations: null },
        { type: "tool_use", id: "B:1", name: "f" },
        { type: "server_tool_use", id: "C" },
      ],
    }
    const answered = (message: AssistantMessage): Message[] => [
      user("go"),
      message,
      ...(message.tool_calls ?? []).map(({ id }) => result(id, "1")),
    ]
    const use = (id: string, input: object = {}) => ({ type: "tool_use", id, name: "f", input })

    test("is sent back in its order, with the masked inputs", () => {
      expect(sent(answered(ordered))[1]).toEqual({
        role: "assistant",
        content: [signed, use("A", { token: "***" }), signed, text("Now B"), use("B_1")],
      })
    })

    test("changed text is taken from the message", () => {
      expect(sent(answered({ ...ordered, content: "Now [masked]" }))[1]).toMatchObject({
        content: [signed, use("A", { token: "***" }), signed, text("Now [masked]"), use("B_1")],
      })
    })

    test("removed and added calls are respected", () => {
      expect(sent(answered({ ...ordered, tool_calls: [call("A"), call("D")] }))[1]).toMatchObject({
        content: [signed, use("A"), signed, text("Now B"), use("D")],
      })
    })

    test("text that is in no block comes first", () => {
      const blocks = (ordered.anthropic_content_blocks ?? []).filter((_, index) => index !== 3)
      expect(sent(answered({ ...ordered, anthropic_content_blocks: blocks }))[1]).toMatchObject({
        content: [text("Now B"), signed, use("A", { token: "***" }), signed, use("B_1")],
      })
    })
  })
})

describe("cache markers", () => {
  const ten = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? user(`u${index}`) : assistant(`a${index}`)))

  test.each<[string, Message[], string, readonly string[]]>([
    ["system, user, assistant, user", [user("u"), assistant("a"), user("v")], "s", ["s", "u", "a", "v"]],
    ["system and ten", ten, "s", ["s", "a7", "u8", "a9"]],
    ["six without system", ten.slice(0, 6), "", ["u2", "a3", "u4", "a5"]],
    ["nothing", [], "", []],
    ["a tool result last", [user("u"), callsTools("A"), result("A", "r")], "s", ["s", "u", "A", "r"]],
    ["several results in one message", [user("u"), callsTools("A", "B"), ...ab], "s", ["s", "B", "1", "2"]],
    ["a list", [{ role: "user", content: [part("x"), part("y")] }], "s", ["s", "y"]],
  ])("%s", (_name, messages, system, expected) => {
    expect(marked(bodyText(wireAt().encode({ ...requestOf(messages), system, cacheTtl: "5m" })))).toEqual(expected)
  })

  test("never on thinking", () => {
    const only: Message = { ...assistant(""), reasoning_details: [{ type: "thinking", thinking: "t", signature: "s" }] }
    expect(marked(bodyText(wireAt().encode({ ...requestOf([user("u"), only]), cacheTtl: "5m" })))).toEqual(["u"])
  })

  test.each([
    ["5m", { type: "ephemeral" }],
    ["1h", { type: "ephemeral", ttl: "1h" }],
  ] as const)("for %s", (cacheTtl, marker) => {
    const body = JSON.parse(bodyText(wireAt().encode({ ...requestOf([user("u")]), system: "s", cacheTtl }))) as unknown
    expect(body).toMatchObject({
      system: [{ type: "text", text: "s", cache_control: marker }],
      messages: [{ content: [{ cache_control: marker }] }],
    })
  })

  test.each<[Partial<WireEndpoint>, string, readonly string[]]>([
    [{}, "anything", ["s", "u", "A", "r"]],
    [{ host: "gateway.example" }, "anything", ["s", "u", "A", "r"]],
    [{ provider: "custom", host: "gateway.example" }, "claude-opus-4-6", ["s", "u", "A", "r"]],
    [{ provider: "minimax-cn", host: "x" }, "MiniMax-M2.5", ["s", "u", "A", "r"]],
    [{ provider: "custom", host: "api.minimaxi.com" }, "MiniMax-M2.5", ["s", "u", "A", "r"]],
    [{ provider: "openrouter", host: "openrouter.ai" }, "anthropic/claude-opus-4.6", ["s", "u", "A"]],
    [{ provider: "nous", host: "x" }, "qwen3", ["s", "u", "A"]],
    [{ provider: "opencode-go", host: "x" }, "qwen3", ["s", "u", "A"]],
    [{ provider: "custom", host: "gateway.example" }, "qwen3", []],
    [{ provider: "custom", host: "notminimax.io" }, "m", []],
  ])("%j %s", (endpoint, model, expected) => {
    const request = { ...requestOf([user("u"), callsTools("A"), result("A", "r")]), system: "s", model }
    expect(marked(bodyText(wireAt(endpoint).encode({ ...request, cacheTtl: "5m" })))).toEqual(expected)
    expect(marked(bodyText(wireAt(endpoint).encode(request)))).toEqual([])
  })
})

test("each request of a session is a byte prefix of the next, apart from the moving cache markers", () => {
  const texts = fc.string({ unit: "grapheme", maxLength: 20 })
  const round = fc.record({ text: texts, results: fc.array(texts, { maxLength: 3 }), next: texts })
  const marker = ',"cache_control":{"type":"ephemeral"}'
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 6 }), texts, (rounds, system) => {
      const histories: Message[][] = [[user("start")]]
      for (const [turn, { text, results: outputs, next }] of rounds.entries()) {
        const ids = outputs.map((_, index) => `t${turn}_${index}`)
        const step: Message[] =
          ids.length === 0
            ? [assistant(text), user(next)]
            : [
                { role: "assistant", content: text, tool_calls: ids.map((id) => call(id)) },
                ...ids.map((id, index) => result(id, outputs[index] ?? "")),
              ]
        histories.push([...(histories.at(-1) ?? []), ...step])
      }
      const wire = wireAt()
      const requests = histories.map((messages): ModelRequest => ({ ...requestOf(messages), system, cacheTtl: "5m" }))
      const bodies = requests.map((request) => bodyText(wire.encode(request)))
      for (const [index, body] of bodies.entries()) {
        const before = bodies[index - 1]
        if (before === undefined) continue
        expect(body.replaceAll(marker, "").startsWith(before.replaceAll(marker, "").slice(0, -"]}".length))).toBe(true)
        const firstMoved = before.indexOf(marker, before.indexOf('"messages":'))
        expect(body.slice(0, firstMoved)).toBe(before.slice(0, firstMoved))
      }
      expect(requests.map((request) => bodyText(wireAt().encode(request)))).toEqual(bodies)
    }),
  )
})

test("the caller's messages are not modified", () => {
  const messages = [user("u"), callsTools("A"), result("A", "r")]
  const before = structuredClone(messages)
  bodyText(wireAt().encode({ ...requestOf(messages), system: "s", cacheTtl: "1h" }))
  expect(messages).toEqual(before)
})

const ab = [result("A", "1"), result("B", "2")]

function user(content: string): Message {
  return { role: "user", content }
}

function assistant(content: string): AssistantMessage {
  return { role: "assistant", content }
}

function callsTools(...ids: readonly string[]): AssistantMessage {
  return { role: "assistant", content: null, tool_calls: ids.map((id) => call(id)) }
}

function call(id: string, args = "{}") {
  return { id, type: "function" as const, function: { name: "f", arguments: args } }
}

function result(id: string, content: string): ToolMessage {
  return { role: "tool", content, tool_call_id: id, tool_name: "f" }
}

function part(text: string) {
  return { type: "text" as const, text }
}

function says(role: "user" | "assistant", ...texts: readonly string[]) {
  return { role, content: texts.map((text) => ({ type: "text", text })) }
}

function uses(...ids: readonly string[]) {
  return { role: "assistant", content: ids.map((id) => ({ type: "tool_use", id, name: "f", input: {} })) }
}

function results(...pairs: readonly (readonly [string, string])[]) {
  return { role: "user", content: pairs.map(([id, content]) => resultBlock(id, content)) }
}

function resultBlock(id: string, content: unknown) {
  return { type: "tool_result", tool_use_id: id, content }
}

function wireAt(endpoint: Partial<WireEndpoint> = {}) {
  const native = { provider: "anthropic", baseUrl: "https://x", host: "api.anthropic.com", contextLength: 200_000 }
  return createAnthropicMessagesWire({ ...native, ...endpoint }, {})
}

function requestOf(messages: readonly Message[]): ModelRequest {
  return { model: "claude-opus-4-6", system: "", messages, tools: [] }
}

function sent(messages: readonly Message[], endpoint: Partial<WireEndpoint> = {}): unknown[] {
  return (JSON.parse(bodyText(wireAt(endpoint).encode(requestOf(messages)))) as { messages: unknown[] }).messages
}

/** The texts of the marked blocks, in the order of the body. */
function marked(body: string): string[] {
  type Sent = { cache_control?: unknown; text?: string; id?: string; content?: string }
  const { system, messages } = JSON.parse(body) as { system?: Sent[] | string; messages: { content: Sent[] }[] }
  const blocks = [...(Array.isArray(system) ? system : []), ...messages.flatMap(({ content }) => content)]
  return blocks.flatMap((block) =>
    block.cache_control === undefined ? [] : [block.text ?? block.id ?? block.content ?? ""],
  )
}
