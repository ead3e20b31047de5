import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { describe, expect, test } from "vitest"

import {
  callsTool,
  chunkBytes,
  cutsAfter,
  emptyStream,
  failsInStream,
  htmlError,
  raw,
  refuses,
  reply,
  says,
  stallsAfter,
  status,
} from "../../test/support/model-server/turn.ts"
import { startModelServer } from "../../test/support/model-server/server.ts"
import type { Clock } from "../base/clock.ts"
import { ok } from "../base/result.ts"
import { singleCredential } from "./credential.ts"
import type { CredentialSource } from "./credential.ts"
import { openHttpConnection } from "./http/http-connection.ts"
import { createModelClient } from "./model-client.ts"
import { createWireCodec } from "./route.ts"
import type { RateLimitGuard, Route } from "./route.ts"
import type { RequestTimeouts } from "./http/request-timeouts.ts"
import type { Message } from "../protocol/message.ts"
import type { ModelClient, ModelEvent, ModelOutcome, ModelRequest } from "./model.ts"
import { createChatCompletionsWire } from "./wire/chat-completions/wire.ts"

describe("a reply", () => {
  test("arrives as events and as one outcome", async () => {
    await using model = await startModelServer([
      reply({ reasoning: ["Hm", "m."], text: ["Hel", "lo"], usage: { input: 7, output: 3, cacheRead: 2 } }),
    ])
    using result = await send(model.url)
    // The number of deltas depends on the network: deltas of one chunk are joined.
    const spoken = (type: string) =>
      result.events.flatMap((event) => (event.type === type && "text" in event ? [event.text] : [])).join("")
    expect([spoken("reasoning-delta"), spoken("text-delta")]).toEqual(["Hmm.", "Hello"])
    expect(result.events.findLastIndex((event) => event.type === "reasoning-delta")).toBeLessThan(
      result.events.findIndex((event) => event.type === "text-delta"),
    )
    expect(result.outcome).toEqual({
      kind: "reply",
      reply: {
        content: "Hello",
        toolCalls: [],
        finishReason: "stop",
        reasoning: "Hmm.",
        usage: { input: 7, output: 3, cacheRead: 2, cacheWrite: 0, reasoning: 0 },
        carriers: {},
        ending: "complete",
      },
    })
    expect(model.requests[0]?.headers).toMatchObject({
      authorization: "Bearer test",
      "content-type": "application/json",
    })
    expect(model.requests[0]?.path).toBe("/v1/chat/completions")
    expect(model.view(0)).toMatchObject({ model: "m", system: "Be brief.", messages: [{ role: "user", text: "hi" }] })
  })

  test("with a tool call", async () => {
    await using model = await startModelServer([callsTool("read_file", { path: "a" }, { id: "call_1" })])
    using result = await send(model.url)
    expect(result.events).toEqual([{ type: "tool-generating", tool: "read_file" }])
    expect(result.outcome).toMatchObject({
      reply: {
        finishReason: "tool_calls",
        toolCalls: [{ id: "call_1", type: "function", function: { name: "read_file", arguments: '{"path":"a"}' } }],
      },
    })
  })

  test("to a stored history whose calls have equal ids: each request gets distinct ones", async () => {
    const round = (text: string): readonly Message[] => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_0", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_0", tool_name: "f", content: text },
    ]
    const messages: readonly Message[] = [{ role: "user", content: "go" }, ...round("one"), ...round("two")]
    await using model = await startModelServer([callsTool("f", {}, { id: "call_0" })])
    const request = { ...REQUEST, messages }
    const { outcome } = await collect(clientFor(model.url), new AbortController().signal, request)
    expect(model.view(0).messages.flatMap(({ results }) => results)).toEqual([
      { id: "call_0", text: "one" },
      { id: "call_0_2", text: "two" },
    ])
    expect(outcome).toMatchObject({ reply: { toolCalls: [{ id: "call_0_3" }] } })
  })

  test("in pieces of one byte", async () => {
    await using model = await startModelServer([says("größer 🌍", chunkBytes(1))])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({ kind: "reply", reply: { content: "größer 🌍", ending: "complete" } })
  })

  test("as one JSON document", async () => {
    const message = { role: "assistant", content: "Hello", reasoning_content: "Hm." }
    const body = JSON.stringify({ choices: [{ message, finish_reason: "stop" }] })
    await using model = await startModelServer([raw(body, { "content-type": "application/json" })])
    using result = await send(model.url)
    expect(result.events).toEqual([
      { type: "reasoning-delta", text: "Hm." },
      { type: "text-delta", text: "Hello" },
    ])
    expect(result.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello", reasoning: "Hm." } })
  })

  test("many replies share one connection", async () => {
    const sockets = new Set<unknown>()
    const answer = 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    const server = createServer((incoming, response) => {
      sockets.add(incoming.socket)
      incoming.resume().on("end", () => {
        response.writeHead(200, { "content-type": "text/event-stream" }).end(answer)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const client = clientFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await collect(client)).outcome).toMatchObject({ kind: "reply", reply: { content: "x" } })
    }
    expect(sockets.size).toBe(1)
    client.close()
    await new Promise((resolve) => server.close(resolve))
  })
})

describe("a stream that does not end well", () => {
  const text = frame({ content: "Hello wor" })
  const opening = frame({ tool_calls: [{ index: 0, id: "A", function: { name: "f", arguments: '{"a":' } }] })
  const cutText = { kind: "reply", reply: { content: "Hello wor", finishReason: "stop", ending: "cut-text" } }

  test.each([
    ["between two frames", 0],
    ["inside a frame", 25],
  ])("cut after text, %s: the text is the reply", async (_name, beyond) => {
    await using model = await startModelServer([
      { ...raw(text + frame({ content: "ld" })), ...cutsAfter(text.length + beyond) },
    ])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject(cutText)
    expect(model.requests).toHaveLength(1)
  })

  test.each([
    ["between two frames", 0],
    ["inside a frame", 25],
  ])("cut inside the arguments of a call, %s: the call is dropped", async (_name, beyond) => {
    await using model = await startModelServer([
      { ...raw(text + opening + text), ...cutsAfter((text + opening).length + beyond) },
    ])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({
      reply: { content: "Hello wor", toolCalls: [], finishReason: "length", ending: "cut-call" },
    })
  })

  test.each([
    ["cut before any text", { ...raw(frame({ role: "assistant" }) + text), ...cutsAfter(60) }, "timeout"],
    ["cut inside its only frame", { ...raw(text), ...cutsAfter(text.length - 1) }, "timeout"],
    ["empty", emptyStream(), "server_error"],
    ["not of this wire", raw("data: <html>\n\n"), "server_error"],
    ["with an error inside", reply({ text: "", ...failsInStream("server_error", "sorry") }), "server_error"],
  ])("%s: retried", async (_name, turn, reason) => {
    await using model = await startModelServer([turn, says("Hello")])
    using result = await send(model.url)
    expect(result.events[0]).toMatchObject({ type: "retry", attempt: 1, reason })
    expect(result.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })

  test.each([
    [429, "slow down", "rate_limit"],
    [503, "busy", "overloaded"],
    [99, "odd", "unknown"],
  ])("an in-stream error with code %i is retried as %s %s", async (code, message, reason) => {
    await using model = await startModelServer([
      raw(`data: ${JSON.stringify({ error: { message, code } })}\n\n`),
      says("Hello"),
    ])
    using result = await send(model.url)
    expect(result.events[0]).toMatchObject({ type: "retry", reason })
    expect(result.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })

  test("a context overflow reported inside the stream is recognized", async () => {
    const error = { message: "maximum context length is 8192", code: 400 }
    await using model = await startModelServer([raw(`data: ${JSON.stringify({ error })}\n\n`)])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({ kind: "failed", failure: { reason: "context_overflow", compress: true } })
    expect(model.requests).toHaveLength(1)
  })

  test("an error after shown text is final, so that no text appears twice", async () => {
    await using model = await startModelServer([says("Hel", failsInStream("server_error", "sorry"))])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({
      kind: "failed",
      failure: { message: expect.stringContaining("sorry") as string },
    })
    expect(model.requests).toHaveLength(1)
  })

  test("a timeout after text ends with the text", async () => {
    await using model = await startModelServer([says(["Hello wor", "ld"], stallsAfter({ deltas: 1 }))])
    using result = await send(model.url, { timeouts: { connectMs: 5000, idleMs: 60, staleMs: 0 } })
    expect(result.outcome).toMatchObject(cutText)
    expect(await model.requests[0]?.outcome).not.toBe("sent")
  })

  test.each([
    ["after the headers", stallsAfter({ bytes: 0 })],
    ["without a response", { waitsFor: new Promise(() => {}) }],
  ])("a timeout before the first byte, %s, is retried", async (_name, delivery) => {
    await using model = await startModelServer([says("late", delivery), says("Hello")])
    using result = await send(model.url, { timeouts: { connectMs: 5000, idleMs: 60, staleMs: 0 } })
    expect(result.events[0]).toMatchObject({
      type: "retry",
      reason: "timeout",
      text: `test at ${model.url}/v1 could not be reached: the connection timed out; retrying in 2.5 s`,
    })
    expect(result.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })
})

describe("a refusal", () => {
  test("429 waits as long as the server requests", async () => {
    await using model = await startModelServer([refuses(429, "slow down", { "retry-after": "7" }), says("Hello")])
    using result = await send(model.url)
    expect(result.events[0]).toEqual({
      type: "retry",
      attempt: 1,
      delayMs: 7000,
      reason: "rate_limit",
      text: "test (HTTP 429) limits the number of requests: slow down. Wait a moment or choose another model; retrying in 7.0 s",
    })
    expect(result.slept).toEqual([7000])
    expect(result.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })

  test("two times 500, then the reply", async () => {
    await using model = await startModelServer([refuses(500, "oops"), refuses(500, "oops"), says("Hello")])
    using result = await send(model.url)
    expect(result.slept).toEqual([2500, 5000])
    expect(result.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
    expect(model.requests[2]?.rawBody).toBe(model.requests[0]?.rawBody)
  })

  test("the outcome is that of the last attempt", async () => {
    await using model = await startModelServer([refuses(503, "busy"), refuses(503, "busy"), refuses(503, "busy")])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({ kind: "failed", failure: { reason: "overloaded", status: 503 } })
    expect(result.slept).toHaveLength(2)
    expect(model.unanswered).toEqual([])
  })

  test.each([
    [refuses(401, "bad key"), { reason: "auth", status: 401 }],
    [status(402, { error: "pay" }), { reason: "billing", status: 402 }],
    [refuses(404, "no such model"), { reason: "model_not_found", status: 404 }],
    [refuses(400, "maximum context length is 8192"), { reason: "context_overflow", status: 400, windowTokens: 8192 }],
    [refuses(400, "bad field"), { reason: "format_error", status: 400 }],
  ])("%j is not retried", async (turn, failure) => {
    await using model = await startModelServer([turn])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({ kind: "failed", failure })
    expect(result.events).toEqual([])
    expect(model.requests).toHaveLength(1)
  })

  test("an HTML page of a proxy is reported but not quoted", async () => {
    await using model = await startModelServer([htmlError(502, "Bad Gateway"), says("Hello")])
    using result = await send(model.url)
    expect(result.events[0]).toMatchObject({
      reason: "server_error",
      text: "test (HTTP 502) answered with an error: an HTML page instead of JSON; retrying in 2.5 s",
    })
  })

  test("an HTML page instead of a reply suggests to check the address", async () => {
    const page = raw("<html>Welcome</html>", { "content-type": "text/html" })
    await using model = await startModelServer([page, page, page])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({
      kind: "failed",
      failure: {
        reason: "server_error",
        message: `test at ${model.url}/v1 answered with something that is not JSON; check that the address is a model server`,
      },
    })
  })
})

describe("several credentials and fallbacks", () => {
  test("a limit on one key of two: the same key once more, then the next", async () => {
    await using model = await startModelServer([refuses(429, "slow down"), refuses(429, "slow down"), says("Hello")])
    const marked: string[] = []
    const keys = ["first", "second"].map(
      (id) => ({ id, label: id, secret: id, kind: "api_key", source: "test" }) as const,
    )
    const client = clientFor(model.url, {
      credentials: {
        ...singleCredential("test", keys[0]),
        select: () => Promise.resolve(keys.find(({ id }) => !marked.includes(id))),
        markExhausted: (id) => {
          marked.push(id)
          return Promise.resolve()
        },
        size: () => 2,
        available: () => 2 - marked.length,
      },
    })
    const { events, outcome } = await collect(client)
    expect(outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
    expect(model.requests.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer first",
      "Bearer first",
      "Bearer second",
    ])
    expect(events.map((event) => event.type)).toEqual(["retry", "switch", "text-delta"])
    expect(marked).toEqual(["first"])
    client.close()
  })

  test("a server that stays down: the fallback replies, and the next turn starts with the primary again", async () => {
    await using down = await startModelServer([
      refuses(503, "busy"),
      refuses(503, "busy"),
      refuses(503, "busy"),
      says("back"),
    ])
    await using other = await startModelServer([says("instead")])
    const client = clientFor(down.url, { fallback: other.url })
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "instead" } })
    expect(client.runtime.baseUrl).toBe(`${other.url}/v1`)
    client.beginTurn()
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "back" } })
    client.close()
  })

  test("when all fail, the outcome is the first failure with the models that were tried", async () => {
    await using down = await startModelServer([refuses(401, "bad key")])
    await using other = await startModelServer([refuses(401, "bad too")])
    const client = clientFor(down.url, { fallback: other.url })
    const { outcome } = await collect(client)
    expect(outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "auth", message: expect.stringMatching(/bad key.*also tried: other/) as string },
    })
    client.close()
  })

  test("an invalid reply is not retried when a fallback exists", async () => {
    await using odd = await startModelServer([raw("<html>Welcome</html>", { "content-type": "text/html" })])
    await using other = await startModelServer([says("instead")])
    const client = clientFor(odd.url, { fallback: other.url })
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "instead" } })
    expect(odd.requests).toHaveLength(1)
    client.close()
    await using alone = await startModelServer([emptyStream(), says("Hello")])
    using result = await send(alone.url)
    expect({ slept: result.slept, outcome: result.outcome }).toMatchObject({
      slept: [6250],
      outcome: { kind: "reply" },
    })
  })

  test("an authentication failure with every key is permanent", async () => {
    await using model = await startModelServer([refuses(401, "bad key"), refuses(401, "bad key")])
    const marked: string[] = []
    const keys = ["first", "second"].map(
      (id) => ({ id, label: id, secret: id, kind: "api_key", source: "test" }) as const,
    )
    using result = await send(model.url, {
      credentials: {
        ...singleCredential("test", keys[0]),
        select: () => Promise.resolve(keys.find(({ id }) => !marked.includes(id))),
        markExhausted: (id) => Promise.resolve(void marked.push(id)),
        size: () => 2,
        available: () => 2 - marked.length,
      },
    })
    expect(result.outcome).toMatchObject({ kind: "failed", failure: { reason: "auth_permanent", status: 401 } })
  })

  test("what a server refuses is left out for the rest of the session", async () => {
    await using model = await startModelServer([refuses(400, "error parsing grammar"), says("Hello"), says("again")])
    const client = clientFor(model.url)
    const request: ModelRequest = {
      ...REQUEST,
      tools: [
        {
          name: "t",
          description: "d",
          parameters: { type: "object", properties: { a: { type: "string", pattern: "x" } } },
        },
      ],
    }
    expect((await collect(client, undefined, request)).outcome).toMatchObject({ reply: { content: "Hello" } })
    expect((await collect(client, undefined, request)).outcome).toMatchObject({ reply: { content: "again" } })
    expect(model.requests.map(({ rawBody }) => rawBody.includes('"pattern"'))).toEqual([true, false, false])
    client.close()
  })

  test("an output limit that is too high is lowered", async () => {
    const message = "max_tokens: 32768 > context_window: 200000 - input_tokens: 190000 = available_tokens: 10000"
    await using model = await startModelServer([refuses(400, message), says("Hello")])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({ reply: { content: "Hello" } })
    expect(model.requests[1]?.body).toMatchObject({ max_tokens: 9936 })
  })
})

describe("a request that is too long", () => {
  const OVERFLOW = "This model's maximum context length is 4096 tokens"

  test("fails with the context window that the server reported, which is used and cached from then on", async () => {
    await using model = await startModelServer([refuses(400, OVERFLOW), says("Hello")])
    await using other = await startModelServer([])
    const remembered: number[] = []
    const client = clientFor(model.url, { fallback: other.url, remembered })
    const { events, outcome } = await collect(client)
    expect(outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "context_overflow", compress: true, windowTokens: 4096 },
    })
    expect(events).toEqual([
      { type: "notice", text: "test reports a context window of 4096 tokens for m", runtime: client.runtime },
    ])
    expect({ window: client.runtime.contextLength, remembered }).toEqual({ window: 4096, remembered: [4096] })
    client.beginTurn()
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "Hello" } })
    expect({ window: client.runtime.contextLength, elsewhere: other.requests.length }).toEqual({
      window: 4096,
      elsewhere: 0,
    })
    client.close()
  })

  test.each([
    ["a window that is larger than the known one", refuses(400, "maximum context length is 9000 tokens")],
    ["no window", refuses(400, "the prompt is too long")],
    ["a body that is too large", refuses(413, "too large")],
  ])("with %s does not change the context window", async (_name, refusal) => {
    await using model = await startModelServer([refusal])
    const remembered: number[] = []
    const client = clientFor(model.url, { remembered })
    const { events, outcome } = await collect(client)
    expect(outcome).toMatchObject({ kind: "failed", failure: { compress: true } })
    expect({ events, remembered, window: client.runtime.contextLength }).toEqual({
      events: [],
      remembered: [],
      window: 8000,
    })
    client.close()
  })

  test("for the purchased tier reduces the context window for this session only", async () => {
    await using model = await startModelServer([refuses(429, "extra usage is required for long context requests")])
    const remembered: number[] = []
    const client = clientFor(model.url, { window: 1_000_000, remembered })
    expect((await collect(client)).outcome).toMatchObject({
      failure: { reason: "long_context_tier", compress: true },
    })
    expect({ window: client.runtime.contextLength, remembered }).toEqual({ window: 200_000, remembered: [] })
    client.close()
  })

  test("a refusal without a reason counts as an overflow when the conversation is long", async () => {
    const long = { ...REQUEST, messages: [{ role: "user", content: "x".repeat(360_000) }] } as const
    await using model = await startModelServer([refuses(400, "Error"), refuses(400, "Error")])
    const client = clientFor(model.url, { window: 200_000 })
    expect((await collect(client, undefined, long)).outcome).toMatchObject({
      failure: { reason: "context_overflow", compress: true, mayBeTooLong: true },
    })
    expect((await collect(client)).outcome).toMatchObject({ failure: { reason: "format_error", compress: false } })
    client.close()
  })

  test("tool definitions and tool calls count towards the length", async () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "x".repeat(320_000) } } as const
    const long: ModelRequest = {
      ...REQUEST,
      messages: [...REQUEST.messages, { role: "assistant", content: null, tool_calls: [call] }],
      tools: [{ name: "f", description: "y".repeat(40_000), parameters: {} }],
    }
    await using model = await startModelServer([refuses(400, "Error")])
    const client = clientFor(model.url, { window: 200_000 })
    expect((await collect(client, undefined, long)).outcome).toMatchObject({ failure: { reason: "context_overflow" } })
    client.close()
  })

  test("for the fallback is not sent: the outcome names the fallback's context window", async () => {
    const long = { ...REQUEST, messages: [{ role: "user", content: "x".repeat(40_000) }] } as const
    await using down = await startModelServer([refuses(401, "bad key")])
    await using other = await startModelServer([says("short enough")])
    const client = clientFor(down.url, { fallback: other.url, window: 100_000, fallbackWindow: 8000 })
    const { events, outcome } = await collect(client, undefined, long)
    expect(outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "context_overflow", compress: true, windowTokens: 8000 },
    })
    const text = expect.stringMatching(/\(HTTP 401\).*bad key.*; switching to other$/) as string
    expect(events).toEqual([{ type: "switch", kind: "fallback", text, runtime: client.runtime }])
    expect({ model: client.runtime.model, sent: other.requests.length }).toEqual({ model: "other", sent: 0 })
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "short enough" } })
    client.close()
  })

  test("confirmWindow requests the exact context window", async () => {
    await using model = await startModelServer([])
    const client = clientFor(model.url, { exactWindow: 131_072 })
    const { signal } = new AbortController()
    const before = client.runtime
    await client.confirmWindow?.({ signal })
    expect([before.contextLength, client.runtime.contextLength]).toEqual([8000, 131_072])
    client.beginTurn()
    expect(client.runtime.contextLength).toBe(131_072)
    const unknown = clientFor(model.url)
    const same = unknown.runtime
    await unknown.confirmWindow?.({ signal })
    expect(unknown.runtime).toBe(same)
    client.close()
    unknown.close()
  })
})

describe("images that a server does not accept", () => {
  const SEEING: ModelRequest = {
    ...REQUEST,
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "what is this?" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAEC" } },
        ],
      },
    ],
  }

  test.each([
    [refuses(400, "image exceeds 5 MB maximum"), /too large.*smaller/],
    [refuses(404, "No endpoints found that support image input"), /does not accept images.*choose a model with vision/],
    [refuses(400, "this model does not support image input"), /does not accept images/],
  ])("%j: images are left out for the rest of the session, with a notice", async (refusal, notice) => {
    await using model = await startModelServer([refusal, says("Hello"), says("again")])
    const client = clientFor(model.url)
    const { events, outcome } = await collect(client, undefined, SEEING)
    expect(outcome).toMatchObject({ reply: { content: "Hello" } })
    expect(events[0]).toEqual({ type: "notice", text: expect.stringMatching(notice) as string })
    expect((await collect(client, undefined, SEEING)).outcome).toMatchObject({ reply: { content: "again" } })
    expect(model.requests.map(({ rawBody }) => rawBody.includes("AAEC"))).toEqual([true, false, false])
    client.close()
  })

  test("a request without images fails unchanged", async () => {
    await using model = await startModelServer([refuses(400, "this model does not support image input")])
    using result = await send(model.url)
    expect(result.outcome).toMatchObject({ kind: "failed", failure: { reason: "format_error" } })
    expect(model.requests).toHaveLength(1)
  })
})

describe("credential cooldowns and shared rate limits", () => {
  const inCooldown = (nextAvailableAt: number | undefined): CredentialSource => ({
    ...singleCredential("test", undefined),
    size: () => 2,
    nextAvailableAt: () => nextAvailableAt,
  })

  test.each([
    [
      700,
      "every key of test is in cooldown; the next one is available in 12m. `hermes auth list test` shows why, `hermes auth reset test` clears the cooldowns",
    ],
    [
      undefined,
      "every key of test was refused; `hermes auth list test` shows why, `hermes auth add test` adds another",
    ],
  ])(
    "all keys are in cooldown until %s: no request is sent, and the message says what to do",
    async (until, message) => {
      await using model = await startModelServer([])
      using result = await send(model.url, { credentials: inCooldown(until) })
      expect(result.outcome).toMatchObject({ kind: "failed", failure: { reason: "rate_limit", message } })
    },
  )

  function guardOf(until?: number): RateLimitGuard & { readonly recorded: (number | "cleared")[] } {
    const recorded: (number | "cleared")[] = []
    return {
      recorded,
      blockedUntil: () => until,
      record: (seconds) => void recorded.push(seconds),
      clear: () => void recorded.push("cleared"),
    }
  }

  test("a rate limit that another process recorded: the fallback is used at once", async () => {
    await using limited = await startModelServer([])
    await using other = await startModelServer([says("instead")])
    const client = clientFor(limited.url, { fallback: other.url, guard: guardOf(130) })
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "instead" } })
    client.close()
    using alone = await send(limited.url, { guard: guardOf(130) })
    expect(alone.outcome).toMatchObject({
      failure: { message: "the rate limit of test is used up for another 2m; wait, or choose another model" },
    })
  })

  test("an account limit is recorded for other processes, a provider limit is not; a reply clears it", async () => {
    const gone = { "x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": "0" }
    await using model = await startModelServer([
      refuses(429, "slow down", { ...gone, "x-ratelimit-reset-requests": "90" }),
      refuses(429, "no capacity", { ...gone, "x-ratelimit-reset-requests": "5" }),
      says("Hello"),
    ])
    const guard = guardOf()
    using result = await send(model.url, { guard })
    expect(result.outcome).toMatchObject({ reply: { content: "Hello" } })
    expect(guard.recorded).toEqual([90, "cleared"])
  })
})

describe("no server", () => {
  test("a refused connection is retried, then reported", async () => {
    const server = await startModelServer([])
    const { url } = server
    await server.close()
    using result = await send(url)
    expect(result.slept).toHaveLength(2)
    expect(result.outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "timeout", status: null, message: expect.stringContaining("nothing listens") as string },
    })
  })

  test("an unknown host is reported", async () => {
    // A label of 64 characters is invalid, so the resolver fails without a network request.
    const url = `http://${"x".repeat(64)}.invalid`
    using result = await send(url)
    expect(result.outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "timeout", status: null, message: expect.stringContaining("host name") as string },
    })
    expect(result.slept).toHaveLength(2)
  })
})

describe("an abort", () => {
  test("during a stream that stalls ends it, and the server sees the connection close", async () => {
    await using model = await startModelServer([says(["one", "two"], stallsAfter({ deltas: 1 }))])
    const abort = new AbortController()
    const client = clientFor(model.url)
    const stream = client.stream(REQUEST, { signal: abort.signal })
    expect(await stream.next()).toEqual({ done: false, value: { type: "text-delta", text: "one" } })
    const next = stream.next()
    abort.abort()
    expect(await next).toEqual({ done: true, value: { kind: "aborted" } })
    expect(await model.requests[0]?.outcome).not.toBe("sent")
    client.close()
  })

  test("before the response begins", async () => {
    await using model = await startModelServer([says("late", { waitsFor: new Promise(() => {}) })])
    const abort = new AbortController()
    const client = clientFor(model.url)
    const next = client.stream(REQUEST, { signal: abort.signal }).next()
    await model.received(0)
    abort.abort()
    expect(await next).toEqual({ done: true, value: { kind: "aborted" } })
    client.close()
  })

  test("during the wait before a retry", async () => {
    await using model = await startModelServer([refuses(500, "oops")])
    const abort = new AbortController()
    const clock: Clock = {
      now: () => 0,
      sleep: (_ms, { signal }) => {
        abort.abort()
        return Promise.reject(signal.reason as Error)
      },
    }
    const client = clientFor(model.url, { clock })
    expect((await collect(client, abort.signal)).outcome).toEqual({ kind: "aborted" })
    expect(model.requests).toHaveLength(1)
    client.close()
  })

  test("before the request sends nothing", async () => {
    await using model = await startModelServer([])
    const client = clientFor(model.url)
    expect((await collect(client, AbortSignal.abort())).outcome).toEqual({ kind: "aborted" })
    expect(model.requests).toEqual([])
    client.close()
  })
})

const REQUEST: ModelRequest = {
  model: "m",
  system: "Be brief.",
  messages: [{ role: "user", content: "hi" }],
  tools: [],
}

function frame(delta: object): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`
}

interface ClientParts {
  readonly clock?: Clock
  readonly timeouts?: RequestTimeouts
  readonly streamRetries?: number
  readonly reconnect?: () => void
  readonly credentials?: CredentialSource
  /** Address of a second server with the same wire. */
  readonly fallback?: string
  /** Context windows of the primary and the fallback. */
  readonly window?: number
  readonly fallbackWindow?: number
  /** Collects the context windows that are cached for later sessions. */
  readonly remembered?: number[]
  /** The context window that a request for it returns. */
  readonly exactWindow?: number
  readonly guard?: RateLimitGuard
}

function clientFor(url: string, parts: ClientParts = {}): ModelClient {
  const { fallback } = parts
  return createModelClient({
    primary: routeTo(url, parts),
    fallbacks:
      fallback === undefined ? [] : [{ name: "other", open: () => Promise.resolve(ok(routeTo(fallback, parts))) }],
    maxAttempts: 3,
    streamRetries: parts.streamRetries ?? 0,
    clock: parts.clock ?? { now: () => 0, sleep: () => Promise.resolve() },
    random: () => 0.5,
  })
}

function routeTo(url: string, parts: ClientParts): Route {
  const baseUrl = `${url}/v1`
  const window = url === parts.fallback ? parts.fallbackWindow : parts.window
  const endpoint = { provider: "test", baseUrl, host: "127.0.0.1", contextLength: window ?? 8000 }
  const connection = openHttpConnection(new URL(baseUrl))
  const key = { id: "k", label: "k", secret: "test", kind: "api_key", source: "test" } as const
  return {
    runtime: {
      ...endpoint,
      model: url === parts.fallback ? "other" : "m",
      wire: "chat_completions",
      credentialSource: "test",
      billingMode: "metered",
    },
    codec: createWireCodec(createChatCompletionsWire(endpoint, { includeUsage: true })),
    connectionFor: () => connection,
    close: () => connection.close(),
    credentials: parts.credentials ?? singleCredential("test", key),
    headers: { "content-type": "application/json" },
    timeouts: () => parts.timeouts ?? { connectMs: 5000, idleMs: 5000, staleMs: 0 },
    ...(parts.reconnect === undefined ? {} : { reconnect: parts.reconnect }),
    ...windowParts(url, parts),
    withoutRefusedFeature: () => Promise.resolve(undefined),
    authorise: (credential) => Promise.resolve(ok({ authorization: `Bearer ${credential?.secret ?? ""}` })),
  }
}

function windowParts(
  url: string,
  parts: ClientParts,
): Pick<Route, "withWindow" | "requestContextWindow" | "rememberWindow" | "guard"> {
  const field = url === parts.fallback ? "fallbackWindow" : "window"
  return {
    withWindow: (tokens) => Promise.resolve(routeTo(url, { ...parts, [field]: tokens })),
    requestContextWindow: () => Promise.resolve(parts.exactWindow),
    rememberWindow: (tokens) => void parts.remembered?.push(tokens),
    ...(parts.guard === undefined || url === parts.fallback ? {} : { guard: parts.guard }),
  }
}

/** Sends one request to its end; the clock's sleeps return at once. */
async function send(url: string, parts: ClientParts = {}) {
  const slept: number[] = []
  const clock: Clock = {
    now: () => 0,
    sleep: (ms) => {
      slept.push(ms)
      return Promise.resolve()
    },
  }
  const client = clientFor(url, { clock, ...parts })
  return { ...(await collect(client)), slept, [Symbol.dispose]: () => client.close() }
}

async function collect(
  client: ModelClient,
  signal = new AbortController().signal,
  request: ModelRequest = REQUEST,
): Promise<{ events: ModelEvent[]; outcome: ModelOutcome }> {
  const events: ModelEvent[] = []
  const stream = client.stream(request, { signal })
  for (;;) {
    const next = await stream.next()
    if (next.done === true) return { events, outcome: next.value }
    events.push(next.value)
  }
}
