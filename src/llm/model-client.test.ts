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
import { openHttpConnection } from "./http/http.ts"
import { createModelClient } from "./model-client.ts"
import { codecOf } from "./route.ts"
import type { RateLimitGuard, Route } from "./route.ts"
import type { RequestTimeouts } from "./http/request-timeouts.ts"
import type { ModelClient, ModelEvent, ModelOutcome, ModelRequest } from "./model.ts"
import { createChatCompletionsWire } from "./wire/chat-completions.ts"

describe("a reply", () => {
  test("arrives as events and as one outcome", async () => {
    await using model = await startModelServer([
      reply({ reasoning: ["Hm", "m."], text: ["Hel", "lo"], usage: { input: 7, output: 3, cacheRead: 2 } }),
    ])
    using asked = await ask(model.url)
    // How many deltas there are depends on how the network cut the stream: those of one chunk come as one.
    const spoken = (type: string) =>
      asked.events.flatMap((event) => (event.type === type && "text" in event ? [event.text] : [])).join("")
    expect([spoken("reasoning-delta"), spoken("text-delta")]).toEqual(["Hmm.", "Hello"])
    expect(asked.events.findLastIndex((event) => event.type === "reasoning-delta")).toBeLessThan(
      asked.events.findIndex((event) => event.type === "text-delta"),
    )
    expect(asked.outcome).toEqual({
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
    using asked = await ask(model.url)
    expect(asked.events).toEqual([{ type: "tool-generating", tool: "read_file" }])
    expect(asked.outcome).toMatchObject({
      reply: {
        finishReason: "tool_calls",
        toolCalls: [{ id: "call_1", type: "function", function: { name: "read_file", arguments: '{"path":"a"}' } }],
      },
    })
  })

  test("in pieces of one byte", async () => {
    await using model = await startModelServer([says("größer 🌍", chunkBytes(1))])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({ kind: "reply", reply: { content: "größer 🌍", ending: "complete" } })
  })

  test("as one JSON document", async () => {
    const message = { role: "assistant", content: "Hello", reasoning_content: "Hm." }
    const body = JSON.stringify({ choices: [{ message, finish_reason: "stop" }] })
    await using model = await startModelServer([raw(body, { "content-type": "application/json" })])
    using asked = await ask(model.url)
    expect(asked.events).toEqual([
      { type: "reasoning-delta", text: "Hm." },
      { type: "text-delta", text: "Hello" },
    ])
    expect(asked.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello", reasoning: "Hm." } })
  })

  test("many replies travel over one connection", async () => {
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
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject(cutText)
    expect(model.requests).toHaveLength(1)
  })

  test.each([
    ["between two frames", 0],
    ["inside a frame", 25],
  ])("cut inside the arguments of a call, %s: the call is not there", async (_name, beyond) => {
    await using model = await startModelServer([
      { ...raw(text + opening + text), ...cutsAfter((text + opening).length + beyond) },
    ])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({
      reply: { content: "Hello wor", toolCalls: [], finishReason: "length", ending: "cut-call" },
    })
  })

  test.each([
    ["cut before anything was said", { ...raw(frame({ role: "assistant" }) + text), ...cutsAfter(60) }, "timeout"],
    ["cut inside its only frame", { ...raw(text), ...cutsAfter(text.length - 1) }, "timeout"],
    ["empty", emptyStream(), "server_error"],
    ["not of this wire", raw("data: <html>\n\n"), "unknown"],
    ["with an error inside", reply({ text: "", ...failsInStream("server_error", "sorry") }), "server_error"],
  ])("%s: asked again", async (_name, turn, reason) => {
    await using model = await startModelServer([turn, says("Hello")])
    using asked = await ask(model.url)
    expect(asked.events[0]).toMatchObject({ type: "retry", attempt: 1, reason })
    expect(asked.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })

  test.each([
    [429, "slow down", "rate_limit"],
    [503, "busy", "overloaded"],
    [99, "odd", "unknown"],
  ])("an error inside with the code %i is asked again as %s %s", async (code, message, reason) => {
    await using model = await startModelServer([
      raw(`data: ${JSON.stringify({ error: { message, code } })}\n\n`),
      says("Hello"),
    ])
    using asked = await ask(model.url)
    expect(asked.events[0]).toMatchObject({ type: "retry", reason })
    expect(asked.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })

  test("an overflow told inside the stream is an overflow", async () => {
    const error = { message: "maximum context length is 8192", code: 400 }
    await using model = await startModelServer([raw(`data: ${JSON.stringify({ error })}\n\n`)])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({ kind: "failed", failure: { reason: "context_overflow", compress: true } })
    expect(model.requests).toHaveLength(1)
  })

  test("what was shown is never said twice: an error after text ends it", async () => {
    await using model = await startModelServer([says("Hel", failsInStream("server_error", "sorry"))])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({
      kind: "failed",
      failure: { message: expect.stringContaining("sorry") as string },
    })
    expect(model.requests).toHaveLength(1)
  })

  test("silence after text ends with the text", async () => {
    await using model = await startModelServer([says(["Hello wor", "ld"], stallsAfter({ deltas: 1 }))])
    using asked = await ask(model.url, { timeouts: { connectMs: 5000, idleMs: 60, staleMs: 0 } })
    expect(asked.outcome).toMatchObject(cutText)
    expect(await model.requests[0]?.outcome).not.toBe("sent")
  })

  test.each([
    ["after the headers", stallsAfter({ bytes: 0 })],
    ["without an answer", { waitsFor: new Promise(() => {}) }],
  ])("silence before the first byte, %s, is a time-out, and asked again", async (_name, delivery) => {
    await using model = await startModelServer([says("late", delivery), says("Hello")])
    using asked = await ask(model.url, { timeouts: { connectMs: 5000, idleMs: 60, staleMs: 0 } })
    expect(asked.events[0]).toMatchObject({
      type: "retry",
      reason: "timeout",
      text: `test at ${model.url}/v1 could not be reached: the connection timed out; trying again in 2.5 s`,
    })
    expect(asked.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })
})

describe("a refusal", () => {
  test("429 waits as long as the server asks", async () => {
    await using model = await startModelServer([refuses(429, "slow down", { "retry-after": "7" }), says("Hello")])
    using asked = await ask(model.url)
    expect(asked.events[0]).toEqual({
      type: "retry",
      attempt: 1,
      delayMs: 7000,
      reason: "rate_limit",
      text: "test (HTTP 429) limits the number of requests: slow down. Wait a moment or choose another model; trying again in 7.0 s",
    })
    expect(asked.slept).toEqual([7000])
    expect(asked.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
  })

  test("two times 500, then the reply", async () => {
    await using model = await startModelServer([refuses(500, "oops"), refuses(500, "oops"), says("Hello")])
    using asked = await ask(model.url)
    expect(asked.slept).toEqual([2500, 5000])
    expect(asked.outcome).toMatchObject({ kind: "reply", reply: { content: "Hello" } })
    expect(model.requests[2]?.rawBody).toBe(model.requests[0]?.rawBody)
  })

  test("the last attempt is the outcome", async () => {
    await using model = await startModelServer([refuses(503, "busy"), refuses(503, "busy"), refuses(503, "busy")])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({ kind: "failed", failure: { reason: "overloaded", status: 503 } })
    expect(asked.slept).toHaveLength(2)
    expect(model.unanswered).toEqual([])
  })

  test.each([
    [refuses(401, "bad key"), { reason: "auth", status: 401 }],
    [status(402, { error: "pay" }), { reason: "billing", status: 402 }],
    [refuses(404, "no such model"), { reason: "model_not_found", status: 404 }],
    [refuses(400, "maximum context length is 8192"), { reason: "context_overflow", status: 400, windowTokens: 8192 }],
    [refuses(400, "bad field"), { reason: "format_error", status: 400 }],
  ])("%j is not asked again", async (turn, failure) => {
    await using model = await startModelServer([turn])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({ kind: "failed", failure })
    expect(asked.events).toEqual([])
    expect(model.requests).toHaveLength(1)
  })

  test("a page of a proxy is named, not quoted", async () => {
    await using model = await startModelServer([htmlError(502, "Bad Gateway"), says("Hello")])
    using asked = await ask(model.url)
    expect(asked.events[0]).toMatchObject({
      reason: "server_error",
      text: "test (HTTP 502) answered with an error: an HTML page instead of an answer; trying again in 2.5 s",
    })
  })

  test("a page instead of a reply says to check the address", async () => {
    const page = raw("<html>Welcome</html>", { "content-type": "text/html" })
    await using model = await startModelServer([page, page, page])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({
      kind: "failed",
      failure: {
        reason: "server_error",
        message: `test at ${model.url}/v1 answered with something that is not JSON; check that the address is a model server`,
      },
    })
  })
})

describe("several ways", () => {
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

  test("a server that stays down: the fallback answers, the next turn starts on the first choice again", async () => {
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

  test("when all fail the first failure is told, with what was tried", async () => {
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

  test("nonsense instead of a reply is not asked for twice where somebody else can answer", async () => {
    await using odd = await startModelServer([raw("<html>Welcome</html>", { "content-type": "text/html" })])
    await using other = await startModelServer([says("instead")])
    const client = clientFor(odd.url, { fallback: other.url })
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "instead" } })
    expect(odd.requests).toHaveLength(1)
    client.close()
    await using alone = await startModelServer([emptyStream(), says("Hello")])
    using asked = await ask(alone.url)
    expect({ slept: asked.slept, outcome: asked.outcome }).toMatchObject({ slept: [6250], outcome: { kind: "reply" } })
  })

  test("a refusal that outlives a change of the key is final", async () => {
    await using model = await startModelServer([refuses(401, "bad key"), refuses(401, "bad key")])
    const marked: string[] = []
    const keys = ["first", "second"].map(
      (id) => ({ id, label: id, secret: id, kind: "api_key", source: "test" }) as const,
    )
    using asked = await ask(model.url, {
      credentials: {
        ...singleCredential("test", keys[0]),
        select: () => Promise.resolve(keys.find(({ id }) => !marked.includes(id))),
        markExhausted: (id) => Promise.resolve(void marked.push(id)),
        size: () => 2,
        available: () => 2 - marked.length,
      },
    })
    expect(asked.outcome).toMatchObject({ kind: "failed", failure: { reason: "auth_permanent", status: 401 } })
  })

  test("what a server refuses is left out, once and for the session", async () => {
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

  test("an answer that would be too long is asked for shorter", async () => {
    const said = "max_tokens: 32768 > context_window: 200000 - input_tokens: 190000 = available_tokens: 10000"
    await using model = await startModelServer([refuses(400, said), says("Hello")])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({ reply: { content: "Hello" } })
    expect(model.requests[1]?.body).toMatchObject({ max_tokens: 9936 })
  })
})

describe("a request that is too long", () => {
  const OVERFLOW = "This model's maximum context length is 4096 tokens"

  test("comes back with the window the server named, which holds and is remembered from then on", async () => {
    await using model = await startModelServer([refuses(400, OVERFLOW), says("Hello")])
    await using other = await startModelServer([])
    const remembered: number[] = []
    const client = clientFor(model.url, { fallback: other.url, remembered })
    const { events, outcome } = await collect(client)
    expect(outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "context_overflow", compress: true, windowTokens: 4096 },
    })
    expect(events).toEqual([{ type: "notice", text: "m can read 4096 tokens, says test", runtime: client.runtime }])
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
  ])("with %s leaves the window as it is", async (_name, refusal) => {
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

  test("for the tier that was bought shrinks the window for this session only", async () => {
    await using model = await startModelServer([refuses(429, "extra usage is required for long context requests")])
    const remembered: number[] = []
    const client = clientFor(model.url, { window: 1_000_000, remembered })
    expect((await collect(client)).outcome).toMatchObject({
      failure: { reason: "long_context_tier", compress: true },
    })
    expect({ window: client.runtime.contextLength, remembered }).toEqual({ window: 200_000, remembered: [] })
    client.close()
  })

  test("a refusal without a reason means length when the conversation is long", async () => {
    const long = { ...REQUEST, messages: [{ role: "user", content: "x".repeat(360_000) }] } as const
    await using model = await startModelServer([refuses(400, "Error"), refuses(400, "Error")])
    const client = clientFor(model.url, { window: 200_000 })
    expect((await collect(client, undefined, long)).outcome).toMatchObject({
      failure: { reason: "context_overflow", compress: true, mayBeTooLong: true },
    })
    expect((await collect(client)).outcome).toMatchObject({ failure: { reason: "format_error", compress: false } })
    client.close()
  })

  test("what a tool list and its calls hold counts towards the length", async () => {
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

  test("for the fallback is not sent there: the caller is told whom it has to fit", async () => {
    const long = { ...REQUEST, messages: [{ role: "user", content: "x".repeat(40_000) }] } as const
    await using down = await startModelServer([refuses(401, "bad key")])
    await using other = await startModelServer([says("short enough")])
    const client = clientFor(down.url, { fallback: other.url, window: 100_000, fallbackWindow: 8000 })
    const { events, outcome } = await collect(client, undefined, long)
    expect(outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "context_overflow", compress: true, windowTokens: 8000 },
    })
    const text = expect.stringMatching(/\(HTTP 401\).*bad key.*; going on with other$/) as string
    expect(events).toEqual([{ type: "switch", kind: "fallback", text, runtime: client.runtime }])
    expect({ model: client.runtime.model, sent: other.requests.length }).toEqual({ model: "other", sent: 0 })
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "short enough" } })
    client.close()
  })

  test("the window is asked for when somebody wants to know it exactly", async () => {
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

describe("images that a server does not take", () => {
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
    [refuses(404, "No endpoints found that support image input"), /takes no images.*choose a model that sees/],
    [refuses(400, "this model does not support image input"), /takes no images/],
  ])("%j: the person is told and the rest is sent, for the whole session", async (refusal, notice) => {
    await using model = await startModelServer([refusal, says("Hello"), says("again")])
    const client = clientFor(model.url)
    const { events, outcome } = await collect(client, undefined, SEEING)
    expect(outcome).toMatchObject({ reply: { content: "Hello" } })
    expect(events[0]).toEqual({ type: "notice", text: expect.stringMatching(notice) as string })
    expect((await collect(client, undefined, SEEING)).outcome).toMatchObject({ reply: { content: "again" } })
    expect(model.requests.map(({ rawBody }) => rawBody.includes("AAEC"))).toEqual([true, false, false])
    client.close()
  })

  test("without an image in it the request is at fault, not its images", async () => {
    await using model = await startModelServer([refuses(400, "this model does not support image input")])
    using asked = await ask(model.url)
    expect(asked.outcome).toMatchObject({ kind: "failed", failure: { reason: "format_error" } })
    expect(model.requests).toHaveLength(1)
  })
})

describe("keys and limits that rest", () => {
  const resting = (nextAvailableAt: number | undefined): CredentialSource => ({
    ...singleCredential("test", undefined),
    size: () => 2,
    nextAvailableAt: () => nextAvailableAt,
  })

  test.each([
    [
      700,
      "every key of test is resting; the next one is free in 11m. `hermes auth list test` shows why, `hermes auth reset test` lets them be tried at once",
    ],
    [
      undefined,
      "every key of test was refused; `hermes auth list test` shows why, `hermes auth add test` adds another",
    ],
  ])("all keys rest until %s: nobody is asked, and the person is told what to do", async (until, message) => {
    await using model = await startModelServer([])
    using asked = await ask(model.url, { credentials: resting(until) })
    expect(asked.outcome).toMatchObject({ kind: "failed", failure: { reason: "rate_limit", message } })
  })

  function guardOf(until?: number): RateLimitGuard & { readonly said: (number | "cleared")[] } {
    const said: (number | "cleared")[] = []
    return {
      said,
      restsUntil: () => until,
      record: (seconds) => void said.push(seconds),
      clear: () => void said.push("cleared"),
    }
  }

  test("a limit that another process knows to be used up: the fallback is asked at once", async () => {
    await using limited = await startModelServer([])
    await using other = await startModelServer([says("instead")])
    const client = clientFor(limited.url, { fallback: other.url, guard: guardOf(130) })
    expect((await collect(client)).outcome).toMatchObject({ reply: { content: "instead" } })
    client.close()
    using alone = await ask(limited.url, { guard: guardOf(130) })
    expect(alone.outcome).toMatchObject({
      failure: { message: "the limit of test is used up for another 2m; wait, or choose another model" },
    })
  })

  test("a limit of ours is told to the others, one of the provider is not; an answer clears it", async () => {
    const gone = { "x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": "0" }
    await using model = await startModelServer([
      refuses(429, "slow down", { ...gone, "x-ratelimit-reset-requests": "90" }),
      refuses(429, "no capacity", { ...gone, "x-ratelimit-reset-requests": "5" }),
      says("Hello"),
    ])
    const guard = guardOf()
    using asked = await ask(model.url, { guard })
    expect(asked.outcome).toMatchObject({ reply: { content: "Hello" } })
    expect(guard.said).toEqual([90, "cleared"])
  })
})

describe("no server", () => {
  test("a refused connection is tried again, then told", async () => {
    const server = await startModelServer([])
    const { url } = server
    await server.close()
    using asked = await ask(url)
    expect(asked.slept).toHaveLength(2)
    expect(asked.outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "timeout", status: null, message: expect.stringContaining("nothing listens") as string },
    })
  })

  test("an unknown host is told", async () => {
    // A label of 64 characters cannot exist, so the resolver says so without asking anybody.
    const url = `http://${"x".repeat(64)}.invalid`
    using asked = await ask(url)
    expect(asked.outcome).toMatchObject({
      kind: "failed",
      failure: { reason: "timeout", status: null, message: expect.stringContaining("host name") as string },
    })
    expect(asked.slept).toHaveLength(2)
  })
})

describe("an abort", () => {
  test("during the stream ends it within 100 ms, and the server sees the connection close", async () => {
    await using model = await startModelServer([says(["one", "two"], stallsAfter({ deltas: 1 }))])
    const abort = new AbortController()
    const client = clientFor(model.url)
    const stream = client.stream(REQUEST, { signal: abort.signal })
    expect(await stream.next()).toEqual({ done: false, value: { type: "text-delta", text: "one" } })
    const before = performance.now()
    const next = stream.next()
    abort.abort()
    expect(await next).toEqual({ done: true, value: { kind: "aborted" } })
    expect(performance.now() - before).toBeLessThan(100)
    expect(await model.requests[0]?.outcome).not.toBe("sent")
    client.close()
  })

  test("before the answer begins", async () => {
    await using model = await startModelServer([says("late", { waitsFor: new Promise(() => {}) })])
    const abort = new AbortController()
    const client = clientFor(model.url)
    const next = client.stream(REQUEST, { signal: abort.signal }).next()
    await model.received(0)
    abort.abort()
    expect(await next).toEqual({ done: true, value: { kind: "aborted" } })
    client.close()
  })

  test("during the wait before another attempt", async () => {
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
  /** Address of a second server that speaks the same wire. */
  readonly fallback?: string
  /** Windows of the first choice and of the second. */
  readonly window?: number
  readonly fallbackWindow?: number
  /** Gathers what is remembered for later sessions. */
  readonly remembered?: number[]
  /** What whoever knows better says when the client asks. */
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
  const place = { provider: "test", baseUrl, host: "127.0.0.1", contextLength: window ?? 8000 }
  const connection = openHttpConnection(new URL(baseUrl))
  const key = { id: "k", label: "k", secret: "test", kind: "api_key", source: "test" } as const
  return {
    runtime: {
      ...place,
      model: url === parts.fallback ? "other" : "m",
      wire: "chat_completions",
      credentialSource: "test",
      billingMode: "metered",
    },
    codec: codecOf(createChatCompletionsWire(place, { includeUsage: true })),
    connectionFor: () => connection,
    close: () => connection.close(),
    credentials: parts.credentials ?? singleCredential("test", key),
    headers: { "content-type": "application/json" },
    timeouts: () => parts.timeouts ?? { connectMs: 5000, idleMs: 5000, staleMs: 0 },
    ...(parts.reconnect === undefined ? {} : { reconnect: parts.reconnect }),
    ...windowParts(url, parts),
    alternative: () => Promise.resolve(undefined),
    authorise: (credential) => Promise.resolve(ok({ authorization: `Bearer ${credential?.secret ?? ""}` })),
  }
}

function windowParts(
  url: string,
  parts: ClientParts,
): Pick<Route, "withWindow" | "askWindow" | "rememberWindow" | "guard"> {
  const place = url === parts.fallback ? "fallbackWindow" : "window"
  return {
    withWindow: (tokens) => Promise.resolve(routeTo(url, { ...parts, [place]: tokens })),
    askWindow: () => Promise.resolve(parts.exactWindow),
    rememberWindow: (tokens) => void parts.remembered?.push(tokens),
    ...(parts.guard === undefined || url === parts.fallback ? {} : { guard: parts.guard }),
  }
}

/** One request from beginning to end; nobody really waits between two attempts. */
async function ask(url: string, parts: ClientParts = {}) {
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
