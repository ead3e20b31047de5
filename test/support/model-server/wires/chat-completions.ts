import { assertNever } from "../../../../src/base/assert-never.ts"
import { isRecord, parseJson, stringField } from "../../../../src/base/json.ts"
import type { FinishReason } from "../../../../src/protocol/message.ts"
import type { Usage } from "../../../../src/protocol/usage.ts"
import { promptTokens } from "../../../../src/protocol/usage.ts"
import type { CallView, MessageView, RequestView } from "../recorded-request.ts"
import { partsText, recordsIn } from "../request-parts.ts"
import type { ResolvedReply, ResolvedCall, ResolvedBlock, Frame, Wire } from "../wire.ts"
import { callsOf, corruptServerSentEvent, CREATED, dataFrame, joinedText, pathOnly } from "../wire.ts"

/** OpenAI Chat Completions, with the `reasoning_content` field that DeepSeek, Kimi and vLLM add. */
export const chatCompletions: Wire = {
  name: "chat-completions",
  match: (path) => (pathOnly(path).endsWith("/chat/completions") ? {} : undefined),
  streamType: () => "text/event-stream; charset=utf-8",
  requestIdHeader: "x-request-id",
  wantsStream: (body) => isRecord(body) && body["stream"] === true,
  stream,
  complete,
  failure: (status, message) => ({
    body: { error: { message, type: errorType(status), param: null, code: errorCode(status) } },
    headers: {},
  }),
  corrupt: corruptServerSentEvent,
  view,
}

function stream(reply: ResolvedReply): readonly Frame[] {
  const envelope = chunkEnvelope(reply)
  const frames: Frame[] = [chunk(envelope, { role: "assistant", content: "", refusal: null }, false)]
  let callIndex = 0
  for (const block of reply.blocks) {
    frames.push(...blockFrames(envelope, block, callIndex))
    if (block.kind === "call") callIndex += 1
  }
  if (reply.streamError !== null) {
    const { type, message } = reply.streamError
    return [...frames, dataFrame(JSON.stringify({ error: { message, type, param: null, code: type } }), false)]
  }
  const last = { index: 0, delta: {}, logprobs: null, finish_reason: finishReason(reply.finish) }
  frames.push(dataFrame(`${envelope.head},"choices":[${JSON.stringify(last)}]${envelope.tail}`, false))
  if (wantsUsage(reply.body) && reply.usage !== null) {
    frames.push(dataFrame(`${envelope.head},"choices":[],"usage":${JSON.stringify(usageBody(reply.usage))}}`, false))
  }
  frames.push({ bytes: "data: [DONE]\n\n", delta: false })
  return frames
}

/** The JSON before and after the choices, which is the same in every chunk of a stream. */
interface Envelope {
  readonly head: string
  readonly tail: string
}

function chunkEnvelope(reply: ResolvedReply): Envelope {
  const head = {
    id: `chatcmpl-${reply.serial}`,
    object: "chat.completion.chunk",
    created: CREATED,
    model: reply.model,
    service_tier: "default",
    system_fingerprint: "fp_scripted",
  }
  return { head: JSON.stringify(head).slice(0, -1), tail: wantsUsage(reply.body) ? `,"usage":null}` : "}" }
}

function blockFrames(envelope: Envelope, block: ResolvedBlock, callIndex: number): Frame[] {
  switch (block.kind) {
    case "reasoning":
      return block.deltas.map((piece) => chunk(envelope, { reasoning_content: piece }, true))
    case "redacted":
      return []
    case "text":
      return textFrames(envelope, block.deltas)
    case "refusal":
      return [chunk(envelope, { refusal: block.text }, true)]
    case "call":
      return callFrames(envelope, block.call, callIndex)
    default:
      return assertNever(block)
  }
}

/** Serialises each distinct text once, because long streams often repeat the same text. */
function textFrames(envelope: Envelope, pieces: readonly string[]): Frame[] {
  const frames = new Map<string, Frame>()
  return pieces.map((piece) => {
    const frame = frames.get(piece) ?? chunk(envelope, { content: piece }, true)
    frames.set(piece, frame)
    return frame
  })
}

function callFrames(envelope: Envelope, call: ResolvedCall, index: number): Frame[] {
  const opening = { index, id: callId(call), type: "function", function: { name: call.name, arguments: "" } }
  return [
    chunk(envelope, { tool_calls: [opening] }, false),
    ...call.fragments.map((piece) =>
      chunk(envelope, { tool_calls: [{ index, function: { arguments: piece } }] }, true),
    ),
  ]
}

function chunk({ head, tail }: Envelope, delta: object, isDelta: boolean): Frame {
  const choice = { index: 0, delta, logprobs: null, finish_reason: null }
  return dataFrame(`${head},"choices":[${JSON.stringify(choice)}]${tail}`, isDelta)
}

function wantsUsage(body: unknown): boolean {
  return isRecord(body) && isRecord(body["stream_options"]) && body["stream_options"]["include_usage"] === true
}

function complete(reply: ResolvedReply): unknown {
  const text = joinedText(reply, "text")
  const reasoning = joinedText(reply, "reasoning")
  const calls = callsOf(reply)
  const refusal = reply.blocks.find((block) => block.kind === "refusal")?.text ?? null
  const message = {
    role: "assistant",
    content: text === "" && (calls.length > 0 || refusal !== null) ? null : text,
    refusal,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: calls.map(completeCall) } : {}),
    annotations: [],
  }
  return {
    id: `chatcmpl-${reply.serial}`,
    object: "chat.completion",
    created: CREATED,
    model: reply.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(reply.finish) }],
    ...(reply.usage === null ? {} : { usage: usageBody(reply.usage) }),
    service_tier: "default",
    system_fingerprint: "fp_scripted",
  }
}

function completeCall(call: ResolvedCall): object {
  return { id: callId(call), type: "function", function: { name: call.name, arguments: call.json } }
}

function callId(call: ResolvedCall): string {
  return call.id ?? `call_${call.serial}`
}

function finishReason(finish: FinishReason): string {
  return finish === "incomplete" ? "length" : finish
}

/** Proxies for Anthropic also report cache writes with Anthropic's field names. */
function usageBody(usage: Usage): object {
  const prompt = promptTokens(usage)
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    ...(usage.cacheWrite > 0
      ? { cache_read_input_tokens: usage.cacheRead, cache_creation_input_tokens: usage.cacheWrite }
      : {}),
  }
}

function errorType(status: number): string {
  if (status === 429) return "rate_limit_error"
  if (status === 401) return "authentication_error"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

function errorCode(status: number): string | null {
  const codes: Record<number, string> = { 401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded" }
  return codes[status] ?? null
}

function view(body: unknown): RequestView {
  const sent = recordsIn(body, "messages")
  const isSystem = (role: unknown) => role === "system" || role === "developer"
  return {
    model: stringField(body, "model") ?? "",
    system: sent
      .filter((message) => isSystem(message["role"]))
      .map((message) => partsText(message["content"]))
      .join("\n"),
    tools: recordsIn(body, "tools").map((tool) => stringField(tool["function"], "name") ?? ""),
    messages: sent.filter((message) => !isSystem(message["role"])).map(messageView),
  }
}

function messageView(message: Record<string, unknown>): MessageView {
  const text = partsText(message["content"])
  if (message["role"] === "tool") {
    return { role: "user", text: "", calls: [], results: [{ id: stringField(message, "tool_call_id") ?? "", text }] }
  }
  const role = message["role"] === "assistant" ? "assistant" : "user"
  return { role, text, calls: recordsIn(message, "tool_calls").map(callView), results: [] }
}

function callView(call: Record<string, unknown>): CallView {
  const text = stringField(call["function"], "arguments") ?? ""
  return {
    id: stringField(call, "id") ?? "",
    name: stringField(call["function"], "name") ?? "",
    input: parseJson(text) ?? text,
  }
}
