import { describe, expect, test } from "vitest"

import type { WireCase } from "./reply-decoders.ts"
import { readEventStream, WIRE_CASES } from "./reply-decoders.ts"
import type { ModelServer } from "./server.ts"
import { startModelServer } from "./server.ts"
import {
  callsTool,
  chunkBytes,
  corrupt,
  cutsAfter,
  deltas,
  emptyStream,
  hangsUp,
  htmlError,
  raw,
  repeat,
  reply,
  says,
  stallsAfter,
  status,
  waitsFor,
  withHeaders,
} from "./turn.ts"

const chat = WIRE_CASES[0]!

async function request(model: ModelServer, options: { wire?: WireCase; stream?: boolean; signal?: AbortSignal } = {}) {
  const { wire = chat, stream = true, signal } = options
  return await fetch(model.url + wire.path(stream), {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": "secret" },
    body: JSON.stringify(wire.body(stream)),
    ...(signal === undefined ? {} : { signal }),
  })
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer())
}

async function textOf(model: ModelServer): Promise<string> {
  return chat.decodeStream(await bytesOf(await request(model))).text
}

/** Returns what arrives before the connection breaks. */
async function bytesUntilBroken(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  await expect(async () => {
    for await (const chunk of response.body!) chunks.push(chunk as Uint8Array)
  }).rejects.toThrow("terminated")
  return Buffer.concat(chunks)
}

describe("a script", () => {
  test("uses one turn for each request, including turns that are added later", async () => {
    await using model = await startModelServer([says("one")])
    const first = await textOf(model)
    model.push(says("two"))
    expect([first, await textOf(model), model.unanswered.length]).toEqual(["one", "two", 0])
  })

  test("that has ended responds with an error and records the request as unanswered", async () => {
    await using model = await startModelServer()
    const response = await request(model)
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: {
          message:
            "Model server, request 0: the script has no turn left for /v1/chat/completions: add a turn or use repeat()",
          type: "invalid_request_error",
          param: null,
          code: null,
        },
      },
    ])
    expect(model.unanswered).toEqual(model.requests)
  })

  test("repeats a turn for every remaining request", async () => {
    await using model = await startModelServer([says("once"), repeat(says("again"))])
    expect([await textOf(model), await textOf(model), await textOf(model)]).toEqual(["once", "again", "again"])
  })

  test("starts over when it cycles", async () => {
    await using model = await startModelServer([says("a"), says("b")], { cycle: true })
    expect([await textOf(model), await textOf(model), await textOf(model)]).toEqual(["a", "b", "a"])
  })

  test("may choose the reply from the request", async () => {
    await using model = await startModelServer([repeat(({ wire, path }) => says(`saw ${wire} at ${path}`))])
    expect(await textOf(model)).toBe("saw chat-completions at /v1/chat/completions")
  })

  test("with a function that throws leaves the request unanswered", async () => {
    await using model = await startModelServer([
      () => {
        throw new Error("no reply")
      },
    ])
    expect(await (await request(model)).text()).toContain("the turn function failed: no reply")
    expect(model.unanswered.length).toBe(1)
  })
})

describe("a recorded request", () => {
  test("contains what the client sent", async () => {
    await using model = await startModelServer([says("hi")])
    const waiting = model.received(0)
    await bytesOf(await request(model))
    const recorded = model.requests[0]!
    expect(await waiting).toBe(recorded)
    const sent = { model: "m", messages: [], stream: true, stream_options: { include_usage: true } }
    expect(recorded).toMatchObject({
      wire: "chat-completions",
      method: "POST",
      path: "/v1/chat/completions",
      headers: { "content-type": "application/json", "x-api-key": "secret" },
      rawBody: JSON.stringify(sent),
      body: sent,
    })
    expect(await recorded.outcome).toBe("sent")
  })

  test("reports when the client disconnects", async () => {
    await using model = await startModelServer([says("hi", stallsAfter({ deltas: 0 }))])
    const controller = new AbortController()
    const response = await request(model, { signal: controller.signal })
    controller.abort()
    await expect(response.text()).rejects.toThrow("aborted")
    expect(await model.requests[0]!.outcome).toBe("left")
  })

  test.each([
    {
      path: "/v1/chat/completions",
      body: {
        model: "m",
        tools: [{ type: "function", function: { name: "read_file" } }],
        messages: [
          { role: "developer", content: "Be kind." },
          { role: "user", content: [{ type: "text", text: "look" }] },
          {
            role: "assistant",
            content: null,
            tool_calls: [
              { id: "read_file", type: "function", function: { name: "read_file", arguments: '{"path":"a"}' } },
            ],
          },
          { role: "tool", tool_call_id: "read_file", content: "text of a" },
          { role: "user", content: "and?" },
        ],
      },
    },
    {
      path: "/v1/responses",
      body: {
        model: "m",
        instructions: "Be kind.",
        tools: [{ type: "function", name: "read_file" }],
        input: [
          { role: "user", content: [{ type: "input_text", text: "look" }] },
          { type: "reasoning", summary: [] },
          { type: "function_call", call_id: "read_file", name: "read_file", arguments: '{"path":"a"}' },
          { type: "function_call_output", call_id: "read_file", output: "text of a" },
          { role: "user", content: "and?" },
        ],
      },
    },
    {
      path: "/anthropic/v1/messages",
      body: {
        model: "m",
        system: [{ type: "text", text: "Be kind." }],
        tools: [{ name: "read_file" }],
        messages: [
          { role: "user", content: "look" },
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "read_file", name: "read_file", input: { path: "a" } }],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "read_file", content: [{ type: "text", text: "text of a" }] },
              { type: "text", text: "and?" },
            ],
          },
        ],
      },
    },
    {
      path: "/model/m/converse",
      body: {
        system: [{ text: "Be kind." }],
        toolConfig: { tools: [{ toolSpec: { name: "read_file" } }, { cachePoint: { type: "default" } }] },
        messages: [
          { role: "user", content: [{ text: "look" }] },
          {
            role: "assistant",
            content: [{ toolUse: { toolUseId: "read_file", name: "read_file", input: { path: "a" } } }],
          },
          {
            role: "user",
            content: [{ toolResult: { toolUseId: "read_file", content: [{ text: "text of a" }] } }, { text: "and?" }],
          },
        ],
      },
    },
    {
      path: "/v1beta/models/m:generateContent",
      body: {
        systemInstruction: { parts: [{ text: "Be kind." }] },
        tools: [{ functionDeclarations: [{ name: "read_file" }] }],
        contents: [
          { role: "user", parts: [{ text: "look" }] },
          { role: "model", parts: [{ functionCall: { name: "read_file", args: { path: "a" } } }] },
          {
            role: "user",
            parts: [{ functionResponse: { name: "read_file", response: { output: "text of a" } } }, { text: "and?" }],
          },
        ],
      },
    },
  ])("at $path has the same view as in every other wire format", async ({ path, body }) => {
    await using model = await startModelServer([says("ok")])
    await fetch(model.url + path, { method: "POST", body: JSON.stringify(body) })
    const result = { id: "read_file", text: "text of a" }
    expect(model.view(0)).toEqual({
      model: "m",
      system: "Be kind.",
      tools: ["read_file"],
      messages: [
        { role: "user", text: "look", calls: [], results: [] },
        {
          role: "assistant",
          text: "",
          calls: [{ id: "read_file", name: "read_file", input: { path: "a" } }],
          results: [],
        },
        { role: "user", text: "and?", calls: [], results: [result] },
      ],
    })
    expect(model.toolResults(0)).toEqual([result])
  })
})

describe("faults", () => {
  test("a cut connection delivers exactly the given number of bytes", async () => {
    await using whole = await startModelServer([says("Hello there")])
    await using model = await startModelServer([says("Hello there", cutsAfter(333))])
    const expected = (await bytesOf(await request(whole))).subarray(0, 333)
    expect(await bytesUntilBroken(await request(model))).toEqual(expected)
    expect(await model.requests[0]!.outcome).toBe("cut")
  })

  test("a cut also applies to a reply that is not streamed", async () => {
    await using model = await startModelServer([says("Hello there", cutsAfter(20))])
    expect((await bytesUntilBroken(await request(model, { stream: false }))).length).toBe(20)
  })

  test("a cut after zero bytes still sends the headers", async () => {
    await using model = await startModelServer([says("Hello", cutsAfter(0))])
    const response = await request(model)
    expect(response.status).toBe(200)
    expect((await bytesUntilBroken(response)).length).toBe(0)
  })

  test("hanging up sends no response", async () => {
    await using model = await startModelServer([hangsUp()])
    await expect(request(model)).rejects.toThrow("fetch failed")
    expect(await model.requests[0]!.outcome).toBe("cut")
  })

  test("a stall after deltas delays the remaining bytes until the promise resolves", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await using model = await startModelServer([says(["one", "two", "three"], stallsAfter({ deltas: 2 }, promise))])
    const response = await request(model)
    let seen = ""
    let beforeResolve = ""
    for await (const chunk of response.body!) {
      seen += Buffer.from(chunk as Uint8Array).toString()
      if (beforeResolve !== "" || !seen.includes('"two"')) continue
      beforeResolve = seen
      resolve()
    }
    expect(beforeResolve).toMatch(/"content":"two".*\n\n$/)
    expect(chat.decodeStream(Buffer.from(seen)).text).toBe("onetwothree")
  })

  test("a stall after zero deltas sends the frames before the first delta", async () => {
    await using model = await startModelServer([says("Hello", stallsAfter({ deltas: 0 }))])
    const reader = (await request(model)).body!.getReader()
    const first = await reader.read()
    expect(Buffer.from(first.value).toString()).toMatch(
      /"delta":\{"role":"assistant","content":"","refusal":null\}.*\n\n$/,
    )
    await reader.cancel()
    expect(await model.requests[0]!.outcome).toBe("left")
  })

  test("a stall after bytes sends those bytes and ends when the server closes", async () => {
    const model = await startModelServer([says("Hello", stallsAfter({ bytes: 10 }))])
    const response = await request(model)
    const reader = response.body!.getReader()
    const first = await reader.read()
    expect(Buffer.from(first.value).toString()).toBe('data: {"id')
    const closing = model.close()
    await expect(reader.read()).rejects.toThrow("terminated")
    await closing
    expect(await model.requests[0]!.outcome).toBe("closed")
  })

  test.each(WIRE_CASES)("$wire can be delivered in single bytes", async (wire) => {
    await using model = await startModelServer([says("Grüße 👋", chunkBytes(1))])
    expect(wire.decodeStream(await bytesOf(await request(model, { wire }))).text).toBe("Grüße 👋")
  })

  test("chunks can be delayed", async () => {
    await using model = await startModelServer([
      raw("0123456789", {}),
      { ...raw("0123456789"), chunkBytes: 2, chunkDelayMs: 3 },
    ])
    await bytesOf(await request(model))
    const start = performance.now()
    expect((await bytesOf(await request(model))).toString()).toBe("0123456789")
    expect(performance.now() - start).toBeGreaterThanOrEqual(10)
  })

  test.each(WIRE_CASES)("$wire: only the corrupt frame cannot be decoded", async (wire) => {
    await using model = await startModelServer([says(["one", "two"], corrupt(1))])
    const bytes = await bytesOf(await request(model, { wire }))
    expect(() => wire.decodeStream(bytes)).toThrow(wire.wire === "bedrock-converse" ? "checksum" : "JSON")
    expect(bytes.toString("latin1")).toContain("one")
  })

  test("a corrupt complete reply is not valid JSON", async () => {
    await using model = await startModelServer([says("one", corrupt())])
    await expect((await request(model, { stream: false })).json()).rejects.toThrow("JSON")
  })

  test("a corrupt Bedrock frame has a wrong message checksum", async () => {
    const bedrock = WIRE_CASES[3]!
    await using model = await startModelServer([says("one", corrupt())])
    const bytes = await bytesOf(await request(model, { wire: bedrock }))
    expect(() => readEventStream(bytes)).toThrow("the message checksum is wrong")
  })

  test.each(WIRE_CASES)("$wire can end a stream without any frames", async (wire) => {
    await using model = await startModelServer([emptyStream()])
    const response = await request(model, { wire })
    expect([response.status, await response.text()]).toEqual([200, ""])
    expect(response.headers.get("content-type")).toMatch(/event-?stream/)
  })

  test("a status turn sends the given body and headers", async () => {
    await using model = await startModelServer([
      status(503, { custom: true }, { "retry-after-ms": "20" }),
      status(200, "plain text"),
      htmlError(502, "Bad Gateway"),
    ])
    const [first, second, third] = [await request(model), await request(model), await request(model)]
    expect([first.status, first.headers.get("retry-after-ms"), await first.json()]).toEqual([
      503,
      "20",
      { custom: true },
    ])
    expect([second.headers.get("content-type"), await second.text()]).toEqual([
      "text/plain; charset=utf-8",
      "plain text",
    ])
    expect([third.status, third.headers.get("content-type")]).toEqual([502, "text/html; charset=utf-8"])
    expect(await third.text()).toContain("<h1>Bad Gateway</h1>")
  })

  test("a raw turn sends its bytes unchanged", async () => {
    const recorded = Uint8Array.from([0, 255, 10, 13, 128])
    await using model = await startModelServer([raw(recorded, { "content-type": "application/x-test" })])
    const response = await request(model)
    expect([response.headers.get("content-type"), [...(await bytesOf(response))]]).toEqual([
      "application/x-test",
      [...recorded],
    ])
  })

  test("headers of a turn are added to those of the vendor", async () => {
    await using model = await startModelServer([says("hi", withHeaders({ "x-ratelimit-remaining-requests": "3" }))])
    const { headers } = await request(model)
    expect([headers.get("x-ratelimit-remaining-requests"), headers.get("x-request-id")]).toEqual(["3", "req_1"])
  })

  test("a reply can wait for a promise", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    await using model = await startModelServer([says("late", waitsFor(promise)), says("early")])
    const order: string[] = []
    const slow = textOf(model).then((text) => order.push(text))
    await model.received(0)
    order.push(await textOf(model))
    resolve()
    await slow
    expect(order).toEqual(["early", "late"])
  })
})

test("arguments are sent unchanged, whether or not they are valid JSON, and in the scripted deltas", async () => {
  const calls = [
    { name: "f", input: '{"a":' },
    { name: "g", input: undefined, inputDeltas: ["{", "}"] },
  ]
  await using model = await startModelServer([reply({ calls })])
  const bytes = await bytesOf(await request(model))
  expect(chat.decodeStream(bytes).calls.map((call) => call.arguments)).toEqual(['{"a":', "{}"])
  expect(bytes.toString()).toContain('"function":{"arguments":"{"}')
})

test("text is never split inside a character", async () => {
  await using model = await startModelServer([says("1234567👋9")])
  const pieces = [...(await bytesOf(await request(model))).toString().matchAll(/"delta":\{"content":"([^"]+)"/g)]
  expect(pieces.map(([, piece]) => piece)).toEqual(["1234567👋", "9"])
})

test("five thousand deltas arrive as five thousand frames", async () => {
  await using model = await startModelServer([deltas(5000, "word ")])
  const bytes = await bytesOf(await request(model))
  expect(chat.decodeStream(bytes).text).toBe("word ".repeat(5000))
  expect(bytes.toString().split('"content":"word "').length - 1).toBe(5000)
})

describe("requests other than model requests", () => {
  test("return the model list in each vendor's format", async () => {
    await using model = await startModelServer([], { models: ["a"] })
    const get = async (path: string, headers: Record<string, string> = {}) =>
      await (await fetch(model.url + path, { headers })).json()
    expect(await get("/v1/models")).toEqual({
      object: "list",
      data: [{ id: "a", object: "model", created: 1_750_000_000, owned_by: "scripted" }],
    })
    expect(await get("/v1/models?limit=5", { "anthropic-version": "2023-06-01" })).toEqual({
      data: [{ type: "model", id: "a", display_name: "a", created_at: "2025-06-15T15:06:40.000Z" }],
      has_more: false,
      first_id: "a",
      last_id: "a",
    })
    expect(await get("/v1beta/models")).toEqual({
      models: [{ name: "models/a", displayName: "a", supportedGenerationMethods: ["generateContent"] }],
    })
  })

  test("return 404 unless they have a route, and use no turn", async () => {
    const routes = { "GET /api/tags": status(200, { models: [] }) }
    await using model = await startModelServer([callsTool("f", {})], { routes })
    const codes: number[] = []
    for (const path of ["/api/tags", "/api/v0/models", "/props"]) codes.push((await fetch(model.url + path)).status)
    expect(codes).toEqual([200, 404, 404])
    expect(model.probes).toEqual(["GET /api/tags", "GET /api/v0/models", "GET /props"])
    expect(model.requests).toEqual([])
  })
})
