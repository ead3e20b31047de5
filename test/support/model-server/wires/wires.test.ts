import { describe, expect, test } from "vitest"

import type { DecodedReply, WireCase } from "../reply-decoders.ts"
import { readEventStream, readServerSentEvents, WIRE_CASES } from "../reply-decoders.ts"
import type { ModelServer } from "../server.ts"
import { startModelServer } from "../server.ts"
import type { ReplyTurn } from "../turn.ts"
import { callsTool, failsInStream, refuses, reply, says } from "../turn.ts"
import type { WireName } from "../wire.ts"

async function post(model: ModelServer, wire: WireCase, stream: boolean): Promise<Response> {
  const body = JSON.stringify(wire.body(stream))
  return await fetch(model.url + wire.path(stream), { method: "POST", body })
}

/** Decodes the reply as a client does. The streamed and the complete reply must be equal. */
async function decoded(wire: WireCase, turn: ReplyTurn): Promise<DecodedReply> {
  await using model = await startModelServer([turn])
  await using complete = await startModelServer([turn])
  const streamed = wire.decodeStream(Buffer.from(await (await post(model, wire, true)).arrayBuffer()))
  const whole = wire.decodeComplete(await (await post(complete, wire, false)).json())
  expect({ ...streamed, usage: null }).toEqual({ ...whole, usage: null })
  return streamed
}

function caseOf(name: WireName): WireCase {
  return WIRE_CASES.find((candidate) => candidate.wire === name)!
}

describe.each(WIRE_CASES)("$wire", (wire) => {
  test("sends text with any characters", async () => {
    const text = 'Grüße, "Welt" 👩‍🚀\nline two\u2028 — a longer text that takes several deltas'
    expect(await decoded(wire, says(text))).toMatchObject({ text, reasoning: "", calls: [] })
  })

  test("calls tools with the ids of the script, after reasoning and text", async () => {
    const turn = reply({
      reasoning: "Let me look at the file first.",
      signature: "signed",
      text: "Reading.",
      calls: [
        { name: "read_file", input: { path: "a" }, id: "call_a" },
        { name: "terminal", input: { command: "ls -la /tmp", timeout: 5 }, id: "call_b" },
      ],
    })
    expect(await decoded(wire, turn)).toMatchObject({
      text: "Reading.",
      reasoning: "Let me look at the file first.",
      signature: wire.wire === "chat-completions" ? "" : "signed",
      calls: [
        { id: "call_a", name: "read_file", arguments: '{"path":"a"}' },
        { id: "call_b", name: "terminal", arguments: '{"command":"ls -la /tmp","timeout":5}' },
      ],
    })
  })

  test("sends blocks in the order of the script", async () => {
    const turn = reply({
      blocks: [
        { text: "x" },
        { call: { name: "f", input: {}, id: "c1" } },
        { redacted: "b3BhcXVl" },
        { text: "y" },
        { call: { name: "g", input: {}, id: "c2" } },
      ],
    })
    expect(await decoded(wire, turn)).toMatchObject({
      text: "xy",
      calls: [
        { id: "c1", name: "f", arguments: "{}" },
        { id: "c2", name: "g", arguments: "{}" },
      ],
    })
  })

  test("a call without an id gets a generated id that is the same in every run", async () => {
    const ids: string[] = []
    for (let run = 0; run < 2; run += 1) {
      await using model = await startModelServer([callsTool("f", {}), callsTool("f", {})])
      for (let turn = 0; turn < 2; turn += 1) {
        const [call] = wire.decodeComplete(await (await post(model, wire, false)).json()).calls
        ids.push(call!.id)
      }
    }
    const expected: Record<WireName, readonly [string, string]> = {
      "chat-completions": ["call_1", "call_2"],
      responses: ["call_1", "call_2"],
      "anthropic-messages": ["toolu_1", "toolu_2"],
      "bedrock-converse": ["tooluse_1", "tooluse_2"],
      // Gemini sends no ids.
      gemini: ["", ""],
    }
    expect(ids).toEqual([...expected[wire.wire], ...expected[wire.wire]])
  })

  test("omits the usage when the script sets it to null", async () => {
    expect((await decoded(wire, says("hi", { usage: null }))).usage ?? null).toBeNull()
  })

  test("equal scripts produce equal bytes", async () => {
    const bytes: string[] = []
    for (let run = 0; run < 2; run += 1) {
      await using model = await startModelServer([
        reply({ reasoning: "r", text: "t", calls: [{ name: "f", input: 1 }] }),
      ])
      bytes.push(Buffer.from(await (await post(model, wire, true)).arrayBuffer()).toString("hex"))
    }
    expect(bytes[0]).toBe(bytes[1])
  })
})

const USAGE = { input: 200, output: 50, cacheRead: 800, cacheWrite: 100, reasoning: 30 }

test.each<{ wire: WireName; usage: object }>([
  {
    wire: "chat-completions",
    usage: {
      prompt_tokens: 1100,
      completion_tokens: 50,
      total_tokens: 1150,
      prompt_tokens_details: { cached_tokens: 800, cache_write_tokens: 100, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 30,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
      cache_read_input_tokens: 800,
      cache_creation_input_tokens: 100,
    },
  },
  {
    wire: "responses",
    usage: {
      input_tokens: 1100,
      input_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 30 },
      total_tokens: 1150,
    },
  },
  {
    wire: "anthropic-messages",
    usage: {
      input_tokens: 200,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 800,
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 30 },
      server_tool_use: null,
    },
  },
  {
    wire: "bedrock-converse",
    usage: {
      cacheReadInputTokens: 800,
      cacheWriteInputTokens: 100,
      inputTokens: 200,
      outputTokens: 50,
      totalTokens: 1150,
    },
  },
  {
    wire: "gemini",
    usage: {
      promptTokenCount: 1100,
      candidatesTokenCount: 20,
      totalTokenCount: 1150,
      cachedContentTokenCount: 800,
      promptTokensDetails: [{ modality: "TEXT", tokenCount: 1100 }],
      thoughtsTokenCount: 30,
    },
  },
])("$wire reports usage in the vendor's format", async ({ wire, usage }) => {
  expect((await decoded(caseOf(wire), says("hi", { usage: USAGE }))).usage).toEqual(usage)
})

test.each<{ wire: WireName; reasons: readonly [string, string, string, string] }>([
  { wire: "chat-completions", reasons: ["stop", "tool_calls", "length", "content_filter"] },
  {
    wire: "responses",
    reasons: ["completed", "completed", "incomplete:max_output_tokens", "incomplete:content_filter"],
  },
  { wire: "anthropic-messages", reasons: ["end_turn", "tool_use", "max_tokens", "refusal"] },
  { wire: "bedrock-converse", reasons: ["end_turn", "tool_use", "max_tokens", "content_filtered"] },
  { wire: "gemini", reasons: ["STOP", "STOP", "MAX_TOKENS", "SAFETY"] },
])("$wire sends the vendor's finish reasons", async ({ wire, reasons }) => {
  const turns = [
    says("a"),
    callsTool("f", {}),
    says("a", { finish: "length" }),
    says("a", { finish: "content_filter" }),
  ]
  const found: string[] = []
  for (const turn of turns) found.push((await decoded(caseOf(wire), turn)).finish)
  expect(found).toEqual(reasons)
})

test("a refusal has its own field in the OpenAI formats and is text in the others", async () => {
  for (const wire of WIRE_CASES) {
    expect((await decoded(wire, reply({ refusal: "I will not." }))).text).toBe("I will not.")
  }
  await using model = await startModelServer([reply({ refusal: "no" })])
  const completion = await (await post(model, caseOf("chat-completions"), false)).json()
  expect(completion).toMatchObject({
    choices: [{ message: { content: null, refusal: "no" }, finish_reason: "content_filter" }],
  })
})

test.each<{ wire: WireName; body: object; header?: string }>([
  {
    wire: "chat-completions",
    body: { error: { message: "slow down", type: "rate_limit_error", param: null, code: "rate_limit_exceeded" } },
  },
  {
    wire: "responses",
    body: { error: { message: "slow down", type: "rate_limit_error", param: null, code: "rate_limit_exceeded" } },
  },
  {
    wire: "anthropic-messages",
    body: { type: "error", error: { type: "rate_limit_error", message: "slow down" }, request_id: "req_scripted" },
  },
  { wire: "bedrock-converse", body: { message: "slow down" }, header: "ThrottlingException" },
  { wire: "gemini", body: { error: { code: 429, message: "slow down", status: "RESOURCE_EXHAUSTED" } } },
])("$wire sends errors in the vendor's format", async ({ wire, body, header }) => {
  await using model = await startModelServer([refuses(429, "slow down", { "retry-after": "7" })])
  const response = await post(model, caseOf(wire), true)
  expect({
    status: response.status,
    retryAfter: response.headers.get("retry-after"),
    errorType: response.headers.get("x-amzn-errortype"),
    body: await response.json(),
  }).toEqual({ status: 429, retryAfter: "7", errorType: header ?? null, body })
})

describe("an error inside a stream", () => {
  async function lastFrames(name: WireName, type: string): Promise<Buffer> {
    await using model = await startModelServer([says("partial", failsInStream(type, "try later"))])
    return Buffer.from(await (await post(model, caseOf(name), true)).arrayBuffer())
  }

  test("is a chunk with an error and no [DONE] in Chat Completions", async () => {
    const events = readServerSentEvents((await lastFrames("chat-completions", "server_error")).toString())
    expect(JSON.parse(events.at(-1)!.data)).toEqual({
      error: { message: "try later", type: "server_error", param: null, code: "server_error" },
    })
  })

  test("is an error event and a failed response in Responses", async () => {
    const events = readServerSentEvents((await lastFrames("responses", "server_error")).toString())
    expect(events.slice(-2).map(({ event }) => event)).toEqual(["error", "response.failed"])
    expect(JSON.parse(events.at(-1)!.data)).toMatchObject({
      response: { status: "failed", error: { code: "server_error", message: "try later" } },
    })
  })

  test("is an error event in Anthropic Messages", async () => {
    const events = readServerSentEvents((await lastFrames("anthropic-messages", "overloaded_error")).toString())
    expect(events.at(-1)).toEqual({
      event: "error",
      data: '{"type":"error","error":{"type":"overloaded_error","message":"try later"}}',
    })
  })

  test("is an exception message in Bedrock", async () => {
    const messages = readEventStream(await lastFrames("bedrock-converse", "throttlingException"))
    expect(messages.at(-1)).toEqual({
      headers: {
        ":exception-type": "throttlingException",
        ":content-type": "application/json",
        ":message-type": "exception",
      },
      payload: '{"message":"try later"}',
    })
  })

  test("is an error object in Gemini", async () => {
    const events = readServerSentEvents((await lastFrames("gemini", "UNAVAILABLE")).toString())
    expect(JSON.parse(events.at(-1)!.data)).toEqual({
      error: { code: 503, message: "try later", status: "UNAVAILABLE" },
    })
  })
})

test("Chat Completions sends the usage only when the request includes it", async () => {
  await using model = await startModelServer([says("hi")])
  const response = await fetch(`${model.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "m", stream: true }),
  })
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8")
  expect(await response.text()).not.toContain("usage")
})

test("Anthropic streams the events of one thinking and one text block in the documented order", async () => {
  await using model = await startModelServer([reply({ reasoning: ["a", "b"], text: ["c"] })])
  const text = await (await post(model, caseOf("anthropic-messages"), true)).text()
  expect(readServerSentEvents(text).map(({ event }) => event)).toEqual([
    "message_start",
    "ping",
    "content_block_start",
    "content_block_delta",
    "content_block_delta",
    "content_block_delta",
    "content_block_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ])
})

test("Responses streams the events of one call in the documented order", async () => {
  await using model = await startModelServer([callsTool("f", { a: 1 })])
  const text = await (await post(model, caseOf("responses"), true)).text()
  expect(readServerSentEvents(text).map(({ event }) => event)).toEqual([
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.output_item.done",
    "response.completed",
  ])
})

test("Bedrock streams JSON events with the vendor's content type", async () => {
  await using model = await startModelServer([says(["a", "b"])])
  const response = await post(model, caseOf("bedrock-converse"), true)
  expect(response.headers.get("content-type")).toBe("application/vnd.amazon.eventstream")
  const messages = readEventStream(Buffer.from(await response.arrayBuffer()))
  expect(messages.map(({ headers }) => headers)).toEqual(
    ["messageStart", "contentBlockDelta", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"].map(
      (type) => ({ ":event-type": type, ":content-type": "application/json", ":message-type": "event" }),
    ),
  )
})

test("Gemini streams one JSON array without alt=sse", async () => {
  await using model = await startModelServer([says(["a", "b"])])
  const response = await fetch(`${model.url}/v1beta/models/gemini-3%2Fx:streamGenerateContent`, {
    method: "POST",
    body: "{}",
  })
  const chunks = (await response.json()) as { modelVersion: string }[]
  expect(chunks.map(({ modelVersion }) => modelVersion)).toEqual(["gemini-3/x", "gemini-3/x", "gemini-3/x"])
})
