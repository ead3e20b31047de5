import { describe, expect, test } from "vitest"

import type { AssistantMessage, Message, ToolMessage } from "../../protocol/message.ts"
import type { ModelRequest } from "../model.ts"
import { createAnthropicMessagesWire } from "./anthropic-messages.ts"
import type { WirePlace } from "./wire.ts"
import { fc } from "../../../test/support/property.ts"

describe("messages", () => {
  test.each<[string, Message[], unknown]>([
    ["none", [], []],
    [
      "a tool result without text",
      [user("go"), asks("A"), result("A", "")],
      [says("user", "go"), uses("A"), results(["A", "(no output)"])],
    ],
    [
      "two results after one assistant message",
      [user("go"), asks("A", "B"), result("A", "1"), result("B", "2")],
      [says("user", "go"), uses("A", "B"), results(["A", "1"], ["B", "2"])],
    ],
    [
      "an id with characters the server refuses",
      [user("go"), asks("call:1/2"), result("call:1/2", "1")],
      [says("user", "go"), uses("call_1_2"), results(["call_1_2", "1"])],
    ],
    [
      "an empty id",
      [user("go"), asks(""), result("", "1")],
      [says("user", "go"), uses("tool_0"), results(["tool_0", "1"])],
    ],
    [
      "a call whose arguments are no JSON object",
      [user("go"), { role: "assistant", content: null, tool_calls: [call("A", "{bad"), call("B", "[1]")] }, ...ab],
      [says("user", "go"), uses("A", "B"), results(["A", "1"], ["B", "2"])],
    ],
    ["neighbours of one role", [user("a"), user("b")], [says("user", "a", "b")]],
    ["an assistant message first", [answer("hi")], [says("user", "(empty message)"), says("assistant", "hi")]],
    [
      "nothing said",
      [user(" "), answer(""), { role: "user", content: [] }],
      [says("user", "(empty message)"), says("assistant", "(empty message)"), says("user", "(empty message)")],
    ],
    [
      "a call without its result",
      [user("go"), asks("A", "B"), result("B", "2"), answer("ok"), asks("C"), user("stop")],
      [says("user", "go"), uses("B"), results(["B", "2"]), says("assistant", "ok"), says("user", "stop")],
    ],
    [
      "only a call without its result",
      [user("go"), asks("A"), user("stop")],
      [says("user", "go"), says("assistant", "(tool call removed)"), says("user", "stop")],
    ],
    [
      "a result without its call",
      [user("go"), answer("ok"), result("A", "1"), user("x"), answer("ok"), result("B", "2")],
      [
        says("user", "go"),
        says("assistant", "ok"),
        says("user", "x"),
        says("assistant", "ok"),
        says("user", "(tool result removed)"),
      ],
    ],
    [
      "words between a call and its result",
      [user("go"), asks("A"), user("and?"), result("A", "1")],
      [
        says("user", "go"),
        uses("A"),
        { role: "user", content: [resultBlock("A", "1"), { type: "text", text: "and?" }] },
      ],
    ],
    [
      "what only we need",
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
    expect(wireAt().encode(requestOf([user("go"), asking, result("A", "1")]))).toContain(
      '{"type":"tool_use","id":"A","name":"f","input":{"a":2,"b":1}}',
    )
  })
})

describe("images", () => {
  const picture = (url: string) => ({ type: "image_url" as const, image_url: { url } })

  test("of a person", () => {
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

  test("of tools: the three newest are sent", () => {
    const shot = (id: string): Message[] => [
      asks(id),
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
  const thinks = (...reasoning_details: unknown[]): AssistantMessage => ({ ...answer("ok"), reasoning_details })
  const only = (...reasoning_details: unknown[]): AssistantMessage => ({ ...answer(""), reasoning_details })
  const text = (said: string) => ({ type: "text", text: said })

  test.each<[string, Partial<WirePlace>, Message[], unknown]>([
    ["signed, latest", {}, [user("a"), thinks(signed, redacted)], [signed, redacted, text("ok")]],
    ["signed, latest, a person spoke since", {}, [user("a"), thinks(signed), user("b")], [signed, text("ok")]],
    ["signed, two turns ago", {}, [user("a"), thinks(signed), user("b"), answer("c")], [text("ok")]],
    [
      "nothing but signed, two turns ago",
      {},
      [user("a"), only(signed), user("b"), answer("c")],
      [text("(thinking elided)")],
    ],
    ["unsigned, latest", {}, [user("a"), only({ type: "thinking", thinking: "hm" })], [text("hm")]],
    ["text of another wire, latest", {}, [user("a"), { ...answer(""), reasoning_content: "hm" }], [text("hm")]],
    [
      "unsigned, two turns ago",
      {},
      [user("a"), thinks({ type: "thinking", thinking: "hm" }), user("b"), answer("c")],
      [text("ok")],
    ],
    ["for people only", {}, [user("a"), { ...answer("ok"), reasoning: "hm" }], [text("ok")]],
    ["redacted without data", {}, [user("a"), thinks({ type: "redacted_thinking" })], [text("ok")]],
    ["blocks of another wire", {}, [user("a"), thinks({ type: "reasoning.text", text: "hm" }, 7)], [text("ok")]],
    ["keys the server refuses", {}, [user("a"), thinks({ ...signed, index: 0, format: "x" })], [signed, text("ok")]],
    ["signed, MiniMax", { provider: "minimax", host: "api.minimax.io" }, [user("a"), thinks(signed)], [text("ok")]],
    ["only signed, MiniMax", { host: "api.minimax.io" }, [user("a"), only(signed)], [text("(thinking elided)")]],
    [
      "signed, a host that only looks native",
      { host: "api.anthropic.com.evil.com" },
      [user("a"), thinks(signed)],
      [text("ok")],
    ],
    ["signed, Kimi", { host: "api.kimi.com" }, [user("a"), thinks(signed, redacted)], [text("ok")]],
    [
      "unsigned, DeepSeek, two turns ago",
      { host: "api.deepseek.com" },
      [user("a"), thinks({ type: "thinking", thinking: "hm" }), user("b"), answer("c")],
      [{ type: "thinking", thinking: "hm" }, text("ok")],
    ],
    [
      "of a turn that lost a call",
      {},
      [user("a"), { ...thinks(signed, redacted), tool_calls: [call("A")] }],
      [text("hm"), text("ok")],
    ],
    ["of the second of two messages", {}, [user("a"), answer("x"), thinks(signed)], [text("x"), text("ok")]],
  ])("%s", (_name, place, messages, expected) => {
    expect(sent(messages, place)[1]).toEqual({ role: "assistant", content: expected })
  })

  test("stays in all messages of a running tool loop", () => {
    const step = (id: string): Message[] => [
      { role: "assistant", content: null, reasoning_details: [{ ...signed, thinking: id }], tool_calls: [call(id)] },
      result(id, "1"),
    ]
    const first = [user("a"), ...step("A")]
    const second = [...first, ...step("B")]
    const wire = wireAt()
    const bodies = [first, second].map((messages) => wire.encode(requestOf(messages)))
    expect(bodies[1]?.startsWith(bodies[0]?.slice(0, -"]}".length) ?? "-")).toBe(true)
    expect(bodies[1]?.match(/"signature":"s"/g)).toHaveLength(2)
    expect(wire.encode(requestOf([...second, answer("ok"), user("b"), answer("c")]))).not.toContain("signature")
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

    test("goes back in its order, with the masked inputs", () => {
      expect(sent(answered(ordered))[1]).toEqual({
        role: "assistant",
        content: [signed, use("A", { token: "***" }), signed, text("Now B"), use("B_1")],
      })
    })

    test("text that was changed since comes from the message", () => {
      expect(sent(answered({ ...ordered, content: "Now [masked]" }))[1]).toMatchObject({
        content: [signed, use("A", { token: "***" }), signed, text("Now [masked]"), use("B_1")],
      })
    })

    test("calls that are gone or new are respected", () => {
      expect(sent(answered({ ...ordered, tool_calls: [call("A"), call("D")] }))[1]).toMatchObject({
        content: [signed, use("A"), signed, text("Now B"), use("D")],
      })
    })

    test("text that no block holds comes first", () => {
      const blocks = (ordered.anthropic_content_blocks ?? []).filter((_, index) => index !== 3)
      expect(sent(answered({ ...ordered, anthropic_content_blocks: blocks }))[1]).toMatchObject({
        content: [text("Now B"), signed, use("A", { token: "***" }), signed, use("B_1")],
      })
    })
  })
})

describe("cache markers", () => {
  const ten = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? user(`u${index}`) : answer(`a${index}`)))

  test.each<[string, Message[], string, readonly string[]]>([
    ["system, user, assistant, user", [user("u"), answer("a"), user("v")], "s", ["s", "u", "a", "v"]],
    ["system and ten", ten, "s", ["s", "a7", "u8", "a9"]],
    ["six without system", ten.slice(0, 6), "", ["u2", "a3", "u4", "a5"]],
    ["nothing", [], "", []],
    ["a tool result last", [user("u"), asks("A"), result("A", "r")], "s", ["s", "u", "A", "r"]],
    ["several results in one message", [user("u"), asks("A", "B"), ...ab], "s", ["s", "B", "1", "2"]],
    ["a list", [{ role: "user", content: [part("x"), part("y")] }], "s", ["s", "y"]],
  ])("%s", (_name, messages, system, expected) => {
    expect(marked(wireAt().encode({ ...requestOf(messages), system, cacheTtl: "5m" }))).toEqual(expected)
  })

  test("never on thinking", () => {
    const only: Message = { ...answer(""), reasoning_details: [{ type: "thinking", thinking: "t", signature: "s" }] }
    expect(marked(wireAt().encode({ ...requestOf([user("u"), only]), cacheTtl: "5m" }))).toEqual(["u"])
  })

  test.each([
    ["5m", { type: "ephemeral" }],
    ["1h", { type: "ephemeral", ttl: "1h" }],
  ] as const)("for %s", (cacheTtl, marker) => {
    const body = JSON.parse(wireAt().encode({ ...requestOf([user("u")]), system: "s", cacheTtl })) as unknown
    expect(body).toMatchObject({
      system: [{ type: "text", text: "s", cache_control: marker }],
      messages: [{ content: [{ cache_control: marker }] }],
    })
  })

  test.each<[Partial<WirePlace>, string, readonly string[]]>([
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
  ])("%j %s", (place, model, expected) => {
    const request = { ...requestOf([user("u"), asks("A"), result("A", "r")]), system: "s", model }
    expect(marked(wireAt(place).encode({ ...request, cacheTtl: "5m" }))).toEqual(expected)
    expect(marked(wireAt(place).encode(request))).toEqual([])
  })
})

test("each request of a session is a byte prefix of the next, up to the markers that move", () => {
  const words = fc.string({ unit: "grapheme", maxLength: 20 })
  const round = fc.record({ said: words, results: fc.array(words, { maxLength: 3 }), next: words })
  const marker = ',"cache_control":{"type":"ephemeral"}'
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 6 }), words, (rounds, system) => {
      const histories: Message[][] = [[user("start")]]
      for (const [turn, { said, results: outputs, next }] of rounds.entries()) {
        const ids = outputs.map((_, index) => `t${turn}_${index}`)
        const step: Message[] =
          ids.length === 0
            ? [answer(said), user(next)]
            : [
                { role: "assistant", content: said, tool_calls: ids.map((id) => call(id)) },
                ...ids.map((id, index) => result(id, outputs[index] ?? "")),
              ]
        histories.push([...(histories.at(-1) ?? []), ...step])
      }
      const wire = wireAt()
      const requests = histories.map((messages): ModelRequest => ({ ...requestOf(messages), system, cacheTtl: "5m" }))
      const bodies = requests.map((request) => wire.encode(request))
      for (const [index, body] of bodies.entries()) {
        const before = bodies[index - 1]
        if (before === undefined) continue
        expect(body.replaceAll(marker, "").startsWith(before.replaceAll(marker, "").slice(0, -"]}".length))).toBe(true)
        const firstMoved = before.indexOf(marker, before.indexOf('"messages":'))
        expect(body.slice(0, firstMoved)).toBe(before.slice(0, firstMoved))
      }
      expect(requests.map((request) => wireAt().encode(request))).toEqual(bodies)
    }),
  )
})

test("the messages of the caller are not changed", () => {
  const messages = [user("u"), asks("A"), result("A", "r")]
  const before = structuredClone(messages)
  wireAt().encode({ ...requestOf(messages), system: "s", cacheTtl: "1h" })
  expect(messages).toEqual(before)
})

const ab = [result("A", "1"), result("B", "2")]

function user(content: string): Message {
  return { role: "user", content }
}

function answer(content: string): AssistantMessage {
  return { role: "assistant", content }
}

function asks(...ids: readonly string[]): AssistantMessage {
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

function wireAt(place: Partial<WirePlace> = {}) {
  const native = { provider: "anthropic", baseUrl: "https://x", host: "api.anthropic.com", contextLength: 200_000 }
  return createAnthropicMessagesWire({ ...native, ...place }, {})
}

function requestOf(messages: readonly Message[]): ModelRequest {
  return { model: "claude-opus-4-6", system: "", messages, tools: [] }
}

function sent(messages: readonly Message[], place: Partial<WirePlace> = {}): unknown[] {
  return (JSON.parse(wireAt(place).encode(requestOf(messages))) as { messages: unknown[] }).messages
}

/** What the marked blocks say, in the order of the body. */
function marked(body: string): string[] {
  type Sent = { cache_control?: unknown; text?: string; id?: string; content?: string }
  const { system, messages } = JSON.parse(body) as { system?: Sent[] | string; messages: { content: Sent[] }[] }
  const blocks = [...(Array.isArray(system) ? system : []), ...messages.flatMap(({ content }) => content)]
  return blocks.flatMap((block) =>
    block.cache_control === undefined ? [] : [block.text ?? block.id ?? block.content ?? ""],
  )
}
