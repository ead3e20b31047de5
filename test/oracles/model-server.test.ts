import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { describe, expect, test } from "vitest"

import type { ModelServer } from "../support/model-server/server.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, failsInStream, refuses, reply, says } from "../support/model-server/turn.ts"
import { anthropicClient, openAiClient } from "./official-clients.ts"

/**
 * Checks the scripted server with the official vendor clients: they must decode its replies to values that match the
 * vendors' own types.
 */

const USAGE = { input: 200, output: 50, cacheRead: 800, cacheWrite: 100, reasoning: 30 }

const REASONING_TEXT_AND_CALLS = reply({
  reasoning: ["Two files", " to look at."],
  signature: "signed",
  text: ["Read", "ing."],
  calls: [
    { name: "read_file", input: { path: "a.txt" }, id: "call_a" },
    { name: "terminal", input: { command: "ls", timeout: 5 }, id: "call_b" },
  ],
  usage: USAGE,
})

describe("Chat Completions", () => {
  const REQUEST = { model: "gpt-5.4", messages: [{ role: "user" as const, content: "Look." }] }

  const CALLS: OpenAI.Chat.ChatCompletionMessageFunctionToolCall[] = [
    { id: "call_a", type: "function", function: { name: "read_file", arguments: '{"path":"a.txt"}' } },
    { id: "call_b", type: "function", function: { name: "terminal", arguments: '{"command":"ls","timeout":5}' } },
  ]

  const EXPECTED_USAGE: OpenAI.CompletionUsage = {
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
  }

  test("the client assembles text, parallel calls and usage from the chunks of a stream", async () => {
    await using server = await startModelServer([REASONING_TEXT_AND_CALLS])
    const stream = openAiClient(server).chat.completions.stream({ ...REQUEST, stream_options: { include_usage: true } })
    const pieces: string[] = []
    stream.on("content", (piece) => pieces.push(piece))
    const { choices, usage, ...rest } = await stream.finalChatCompletion()
    expect(pieces).toEqual(["Read", "ing."])
    expect(rest).toEqual({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1_750_000_000,
      model: "gpt-5.4",
      service_tier: "default",
      system_fingerprint: "fp_scripted",
    })
    expect(usage).toMatchObject(EXPECTED_USAGE)
    // The client does not know `reasoning_content`, a field of other vendors, and keeps only its last delta.
    expect(choices).toEqual([
      {
        index: 0,
        finish_reason: "tool_calls",
        logprobs: null,
        message: {
          role: "assistant",
          content: "Reading.",
          refusal: null,
          tool_calls: CALLS,
          parsed: null,
          reasoning_content: " to look at.",
        },
      },
    ])
  })

  test("the chunks of a stream have the documented format, with the usage in a separate chunk", async () => {
    await using server = await startModelServer([
      reply({ text: ["Hi"], calls: [{ name: "f", input: { a: 1 }, id: "call_a" }] }),
    ])
    const client = openAiClient(server)
    const chunks = await collected(
      await client.chat.completions.create({ ...REQUEST, stream: true, stream_options: { include_usage: true } }),
    )
    const head = {
      id: "chatcmpl-1",
      object: "chat.completion.chunk" as const,
      created: 1_750_000_000,
      model: "gpt-5.4",
      service_tier: "default" as const,
      system_fingerprint: "fp_scripted",
    }
    const chunk = (
      delta: OpenAI.Chat.ChatCompletionChunk.Choice.Delta,
      finish_reason: OpenAI.Chat.ChatCompletionChunk.Choice["finish_reason"] = null,
    ): OpenAI.Chat.ChatCompletionChunk => ({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      usage: null,
    })
    expect(chunks).toEqual([
      chunk({ role: "assistant", content: "", refusal: null }),
      chunk({ content: "Hi" }),
      chunk({
        tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "f", arguments: "" } }],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }),
      chunk({}, "tool_calls"),
      {
        ...head,
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 5,
          total_tokens: 15,
          prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
          completion_tokens_details: {
            reasoning_tokens: 0,
            audio_tokens: 0,
            accepted_prediction_tokens: 0,
            rejected_prediction_tokens: 0,
          },
        },
      } satisfies OpenAI.Chat.ChatCompletionChunk,
    ])
  })

  test("a reply that is not streamed", async () => {
    await using server = await startModelServer([callsTool("read_file", { path: "a.txt" }, { id: "call_a" })])
    expect(await openAiClient(server).chat.completions.create(REQUEST)).toEqual({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1_750_000_000,
      model: "gpt-5.4",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: null,
            refusal: null,
            tool_calls: CALLS.slice(0, 1),
            annotations: [],
          },
          logprobs: null,
          finish_reason: "tool_calls",
        },
      ],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0, audio_tokens: 0 },
        completion_tokens_details: {
          reasoning_tokens: 0,
          audio_tokens: 0,
          accepted_prediction_tokens: 0,
          rejected_prediction_tokens: 0,
        },
      },
      service_tier: "default",
      system_fingerprint: "fp_scripted",
    } satisfies OpenAI.Chat.ChatCompletion)
  })

  openAiFailures((server) => openAiClient(server).chat.completions.create(REQUEST))

  test("an error inside a stream ends it", async () => {
    await using server = await startModelServer([says(["Hel"], failsInStream("server_error", "try later"))])
    const stream = await openAiClient(server).chat.completions.create({ ...REQUEST, stream: true })
    const error = await failureOf(collected(stream))
    expect(error).toBeInstanceOf(OpenAI.APIError)
    expect(error).toMatchObject({ type: "server_error", code: "server_error", error: { message: "try later" } })
  })
})

describe("Responses", () => {
  const REQUEST = {
    model: "gpt-5.4",
    input: "Look.",
    include: ["reasoning.encrypted_content"],
  } satisfies OpenAI.Responses.ResponseCreateParamsNonStreaming

  const OUTPUT: OpenAI.Responses.ResponseOutputItem[] = [
    {
      id: "rs_1_0",
      type: "reasoning",
      encrypted_content: "signed",
      summary: [{ type: "summary_text", text: "Two files to look at." }],
    },
    {
      id: "msg_1_1",
      type: "message",
      status: "completed",
      content: [{ type: "output_text", annotations: [], logprobs: [], text: "Reading." }],
      role: "assistant",
    },
    {
      id: "fc_1",
      type: "function_call",
      status: "completed",
      arguments: '{"path":"a.txt"}',
      call_id: "call_a",
      name: "read_file",
    },
    {
      id: "fc_2",
      type: "function_call",
      status: "completed",
      arguments: '{"command":"ls","timeout":5}',
      call_id: "call_b",
      name: "terminal",
    },
  ]

  const EXPECTED_USAGE: OpenAI.Responses.ResponseUsage = {
    input_tokens: 1100,
    input_tokens_details: { cached_tokens: 800, cache_write_tokens: 100 },
    output_tokens: 50,
    output_tokens_details: { reasoning_tokens: 30 },
    total_tokens: 1150,
  }

  test("the client assembles reasoning, text, parallel calls and usage from the events of a stream", async () => {
    await using server = await startModelServer([REASONING_TEXT_AND_CALLS])
    const stream = openAiClient(server).responses.stream(REQUEST)
    const textSnapshots: string[] = []
    const argumentSnapshots: string[] = []
    stream.on("response.output_text.delta", ({ snapshot }) => textSnapshots.push(snapshot))
    stream.on("response.function_call_arguments.delta", ({ snapshot }) => argumentSnapshots.push(snapshot))
    const { status, output, output_text, usage } = await stream.finalResponse()
    expect(textSnapshots).toEqual(["Read", "Reading."])
    expect(argumentSnapshots.filter((json) => json.endsWith("}"))).toEqual([
      '{"path":"a.txt"}',
      '{"command":"ls","timeout":5}',
    ])
    expect({ status, output_text, usage }).toEqual({
      status: "completed",
      output_text: "Reading.",
      usage: EXPECTED_USAGE,
    })
    expect(output).toMatchObject(OUTPUT)
  })

  test("the events of a stream have the documented format and order", async () => {
    await using server = await startModelServer([
      reply({ reasoning: ["Hm."], signature: "signed", text: ["Hi"], calls: [{ name: "f", input: {}, id: "call_a" }] }),
    ])
    const events = await collected(await openAiClient(server).responses.create({ ...REQUEST, stream: true }))
    const thought = { item_id: "rs_1_0", output_index: 0, summary_index: 0 }
    const text = { item_id: "msg_1_1", output_index: 1, content_index: 0 }
    const part = { type: "output_text" as const, annotations: [], logprobs: [] }
    const message = { id: "msg_1_1", type: "message" as const, role: "assistant" as const }
    const call = { id: "fc_1", type: "function_call" as const, call_id: "call_a", name: "f" }
    const reasoning = { id: "rs_1_0", type: "reasoning" as const, encrypted_content: "signed" }
    const summary = { type: "summary_text" as const, text: "Hm." }
    const between: OpenAI.Responses.ResponseStreamEvent[] = [
      {
        type: "response.output_item.added",
        sequence_number: 2,
        output_index: 0,
        item: { ...reasoning, summary: [] },
      },
      {
        type: "response.reasoning_summary_part.added",
        sequence_number: 3,
        ...thought,
        part: { type: "summary_text", text: "" },
      },
      { type: "response.reasoning_summary_text.delta", sequence_number: 4, ...thought, delta: "Hm." },
      { type: "response.reasoning_summary_text.done", sequence_number: 5, ...thought, text: "Hm." },
      { type: "response.reasoning_summary_part.done", sequence_number: 6, ...thought, part: summary },
      {
        type: "response.output_item.done",
        sequence_number: 7,
        output_index: 0,
        item: { ...reasoning, summary: [summary] },
      },
      {
        type: "response.output_item.added",
        sequence_number: 8,
        output_index: 1,
        item: { ...message, status: "in_progress", content: [] },
      },
      { type: "response.content_part.added", sequence_number: 9, ...text, part: { ...part, text: "" } },
      { type: "response.output_text.delta", sequence_number: 10, ...text, delta: "Hi", logprobs: [] },
      { type: "response.output_text.done", sequence_number: 11, ...text, text: "Hi", logprobs: [] },
      { type: "response.content_part.done", sequence_number: 12, ...text, part: { ...part, text: "Hi" } },
      {
        type: "response.output_item.done",
        sequence_number: 13,
        output_index: 1,
        item: { ...message, status: "completed", content: [{ ...part, text: "Hi" }] },
      },
      {
        type: "response.output_item.added",
        sequence_number: 14,
        output_index: 2,
        item: { ...call, status: "in_progress", arguments: "" },
      },
      {
        type: "response.function_call_arguments.delta",
        sequence_number: 15,
        item_id: "fc_1",
        output_index: 2,
        delta: "{}",
      },
      {
        type: "response.function_call_arguments.done",
        sequence_number: 16,
        item_id: "fc_1",
        output_index: 2,
        arguments: "{}",
      },
      {
        type: "response.output_item.done",
        sequence_number: 17,
        output_index: 2,
        item: { ...call, status: "completed", arguments: "{}" },
      },
    ]
    expect(events.slice(2, -1)).toEqual(between)
    expect([...events.slice(0, 2), ...events.slice(-1)]).toMatchObject([
      { type: "response.created", sequence_number: 0, response: { id: "resp_1", status: "in_progress", output: [] } },
      { type: "response.in_progress", sequence_number: 1, response: { id: "resp_1", status: "in_progress" } },
      {
        type: "response.completed",
        sequence_number: 18,
        response: { id: "resp_1", status: "completed", usage: { input_tokens: 10, output_tokens: 5 } },
      },
    ])
  })

  test("a reply that is not streamed repeats the settings of the request", async () => {
    await using server = await startModelServer([REASONING_TEXT_AND_CALLS])
    const { output_text, _request_id, ...response } = await openAiClient(server).responses.create({
      ...REQUEST,
      instructions: "Be brief.",
      max_output_tokens: 900,
      store: false,
    })
    expect(output_text).toBe("Reading.")
    expect(_request_id).toBe("req_1")
    expect(response).toMatchObject({
      id: "resp_1",
      object: "response",
      created_at: 1_750_000_000,
      status: "completed",
      error: null,
      incomplete_details: null,
      instructions: "Be brief.",
      max_output_tokens: 900,
      metadata: {},
      model: "gpt-5.4",
      output: OUTPUT,
      parallel_tool_calls: true,
      temperature: 1,
      tool_choice: "auto",
      tools: [],
      top_p: 1,
      truncation: "disabled",
      usage: EXPECTED_USAGE,
    } satisfies Partial<OpenAI.Responses.Response>)
  })

  test("a reply that reaches the token limit is incomplete", async () => {
    await using server = await startModelServer([says("Once upon", { finish: "length" })])
    const { status, incomplete_details, output_text } = await openAiClient(server)
      .responses.stream(REQUEST)
      .finalResponse()
    expect({ status, incomplete_details, output_text }).toEqual({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output_text: "Once upon",
    })
  })

  openAiFailures((server) => openAiClient(server).responses.create(REQUEST))

  test("an error inside a stream ends it", async () => {
    await using server = await startModelServer([says(["Hel"], failsInStream("server_error", "try later"))])
    const error = await failureOf(openAiClient(server).responses.stream(REQUEST).finalResponse())
    expect(error).toBeInstanceOf(OpenAI.APIError)
    expect(error).toMatchObject({ code: "server_error", error: { message: "try later" } })
  })
})

describe("Anthropic Messages", () => {
  const REQUEST = {
    model: "claude-sonnet-4-6",
    max_tokens: 900,
    messages: [{ role: "user" as const, content: "Look." }],
  }

  const HEAD = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-6",
    container: null,
    diagnostics: null,
    stop_sequence: null,
    stop_details: null,
  } as const

  const EXPECTED_USAGE = {
    input_tokens: 200,
    cache_creation_input_tokens: 100,
    cache_read_input_tokens: 800,
    cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 0 },
    output_tokens: 50,
    output_tokens_details: { thinking_tokens: 30 },
    server_tool_use: null,
    service_tier: "standard",
    inference_geo: null,
    speed: null,
  } satisfies Anthropic.Usage

  const MESSAGE = {
    ...HEAD,
    content: [
      { type: "thinking", thinking: "Two files to look at.", signature: "signed" },
      { type: "text", citations: null, text: "Reading." },
      { type: "tool_use", id: "call_a", caller: { type: "direct" }, name: "read_file", input: { path: "a.txt" } },
      {
        type: "tool_use",
        id: "call_b",
        caller: { type: "direct" },
        name: "terminal",
        input: { command: "ls", timeout: 5 },
      },
    ],
    stop_reason: "tool_use",
    usage: EXPECTED_USAGE,
  } satisfies Anthropic.Message

  test("the client assembles signed thinking, text, parallel calls and usage from the events of a stream", async () => {
    await using server = await startModelServer([REASONING_TEXT_AND_CALLS])
    const stream = anthropicClient(server).messages.stream(REQUEST)
    const received: string[] = []
    stream.on("thinking", (piece) => received.push(`thinking ${piece}`))
    stream.on("signature", (signature) => received.push(`signature ${signature}`))
    stream.on("text", (piece) => received.push(`text ${piece}`))
    const { parsed_output, ...message } = await stream.finalMessage()
    expect(parsed_output).toBeNull()
    expect(plainData(message)).toEqual(MESSAGE)
    expect(received).toEqual([
      "thinking Two files",
      "thinking  to look at.",
      "signature signed",
      "text Read",
      "text ing.",
    ])
  })

  test("the events of a stream have the documented format and order", async () => {
    await using server = await startModelServer([
      reply({ reasoning: ["Hm."], signature: "signed", text: ["Hi"], calls: [{ name: "f", input: {}, id: "call_a" }] }),
    ])
    const events = await collected(await anthropicClient(server).messages.create({ ...REQUEST, stream: true }))
    expect(events).toEqual([
      {
        type: "message_start",
        message: {
          ...HEAD,
          content: [],
          stop_reason: null,
          usage: {
            ...EXPECTED_USAGE,
            input_tokens: 10,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
            output_tokens: 1,
            output_tokens_details: { thinking_tokens: 0 },
          },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "signed" } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", citations: null, text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_stop", index: 1 },
      {
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "call_a", caller: { type: "direct" }, name: "f", input: {} },
      },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "" } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "{}" } },
      { type: "content_block_stop", index: 2 },
      {
        type: "message_delta",
        delta: { container: null, stop_reason: "tool_use", stop_sequence: null, stop_details: null },
        usage: {
          input_tokens: 10,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 5,
          output_tokens_details: { thinking_tokens: 0 },
          server_tool_use: null,
        },
      },
      { type: "message_stop" },
    ] satisfies Anthropic.RawMessageStreamEvent[])
  })

  test("a reply that is not streamed equals the streamed one", async () => {
    await using server = await startModelServer([REASONING_TEXT_AND_CALLS])
    expect(await anthropicClient(server).messages.create(REQUEST)).toEqual(MESSAGE)
  })

  test("redacted thinking and a paused turn are decoded", async () => {
    await using server = await startModelServer([reply({ blocks: [{ redacted: "b3BhcXVl" }], finish: "incomplete" })])
    const message = await anthropicClient(server).messages.stream(REQUEST).finalMessage()
    expect({ content: message.content, stop: message.stop_reason }).toEqual({
      content: [{ type: "redacted_thinking", data: "b3BhcXVl" }],
      stop: "pause_turn",
    })
  })

  test.each([
    { status: 400, errorClass: Anthropic.BadRequestError, type: "invalid_request_error" },
    { status: 401, errorClass: Anthropic.AuthenticationError, type: "authentication_error" },
    { status: 403, errorClass: Anthropic.PermissionDeniedError, type: "permission_error" },
    { status: 404, errorClass: Anthropic.NotFoundError, type: "not_found_error" },
    { status: 429, errorClass: Anthropic.RateLimitError, type: "rate_limit_error" },
    { status: 500, errorClass: Anthropic.InternalServerError, type: "api_error" },
    { status: 529, errorClass: Anthropic.InternalServerError, type: "overloaded_error" },
  ])("status $status becomes the matching error class of the client", async ({ status, errorClass, type }) => {
    await using server = await startModelServer([refuses(status, "no", { "retry-after": "7" })])
    const error = await failureOf(anthropicClient(server).messages.create(REQUEST))
    expect(error).toBeInstanceOf(errorClass)
    expect(error).toMatchObject({ status, type, apiMessage: "no", requestID: "req_1" })
    expect((error as InstanceType<typeof Anthropic.APIError>).headers?.get("retry-after")).toBe("7")
  })

  test("an error inside a stream ends it", async () => {
    await using server = await startModelServer([says(["Hel"], failsInStream("overloaded_error", "try later"))])
    const error = await failureOf(anthropicClient(server).messages.stream(REQUEST).finalMessage())
    expect(error).toBeInstanceOf(Anthropic.APIError)
    expect(error).toMatchObject({ type: "overloaded_error", apiMessage: "try later" })
  })
})

function openAiFailures(send: (server: ModelServer) => PromiseLike<unknown>): void {
  test.each([
    { status: 400, errorClass: OpenAI.BadRequestError, type: "invalid_request_error", code: null },
    { status: 401, errorClass: OpenAI.AuthenticationError, code: "invalid_api_key" },
    { status: 429, errorClass: OpenAI.RateLimitError, type: "rate_limit_error", code: "rate_limit_exceeded" },
    { status: 500, errorClass: OpenAI.InternalServerError, type: "server_error", code: null },
  ])("status $status becomes the matching error class of the client", async ({ status, errorClass, ...fields }) => {
    await using server = await startModelServer([refuses(status, "no", { "retry-after": "7" })])
    const error = await failureOf(send(server))
    expect(error).toBeInstanceOf(errorClass)
    expect(error).toMatchObject({ status, ...fields, param: null, requestID: "req_1", error: { message: "no" } })
    expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get("retry-after")).toBe("7")
  })
}

async function failureOf(outcome: PromiseLike<unknown>): Promise<unknown> {
  try {
    await outcome
  } catch (error) {
    return error
  }
  throw new Error("the request did not fail")
}

async function collected<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

/** Removes the hidden fields in which the client keeps its own data. */
function plainData(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
