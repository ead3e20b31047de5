import { assertNever } from "../../../../src/base/assert-never.ts"
import { isRecord, stringField } from "../../../../src/base/json.ts"
import type { FinishReason } from "../../../../src/protocol/message.ts"
import type { Usage } from "../../../../src/protocol/usage.ts"
import type { MessageView, RequestView } from "../recorded-request.ts"
import { partsText, recordsIn } from "../request-parts.ts"
import { thinkingRejection } from "../thinking-rejection.ts"
import type { ResolvedReply, ResolvedCall, ResolvedBlock, Frame, Wire } from "../wire.ts"
import { corruptServerSentEvent, eventFrame, inputValue, pathOnly } from "../wire.ts"

/** Anthropic Messages. */
export const anthropicMessages: Wire = {
  name: "anthropic-messages",
  match: (path) => (pathOnly(path).endsWith("/messages") ? {} : undefined),
  streamType: () => "text/event-stream; charset=utf-8",
  requestIdHeader: "request-id",
  wantsStream: (body) => isRecord(body) && body["stream"] === true,
  rejection,
  stream,
  complete,
  failure: (status, message) => ({
    body: { type: "error", error: { type: errorType(status), message }, request_id: "req_scripted" },
    headers: {},
  }),
  corrupt: corruptServerSentEvent,
  view,
}

/** With a thinking budget, the assistant turn that a tool result continues must begin with thinking. */
function rejection(body: unknown): string | undefined {
  if (!isRecord(body) || stringField(body["thinking"], "type") !== "enabled") return undefined
  const turns = recordsIn(body, "messages").map((message) => ({
    role: message["role"],
    types: recordsIn(message, "content").map((block) => stringField(block, "type") ?? ""),
  }))
  return thinkingRejection(turns, { result: "tool_result", thinking: ["thinking", "redacted_thinking"] })
}

function stream(reply: ResolvedReply): readonly Frame[] {
  const opening = { ...messageHead(reply), content: [], ...ending(null) }
  const usage = reply.usage === null ? {} : { usage: { ...usageBody(reply.usage), output_tokens: 1 } }
  const frames: Frame[] = [
    event({ type: "message_start", message: { ...opening, ...usage } }),
    event({ type: "ping" }),
    ...reply.blocks.flatMap((block, index) => blockFrames(block, index)),
  ]
  if (reply.streamError !== null) return [...frames, event({ type: "error", error: reply.streamError })]
  const delta = { container: null, ...ending(stopReason(reply.finish)) }
  const total = reply.usage === null ? {} : { usage: deltaUsage(reply.usage) }
  frames.push(event({ type: "message_delta", delta, ...total }), event({ type: "message_stop" }))
  return frames
}

function blockFrames(block: ResolvedBlock, index: number): Frame[] {
  const wrap = (content_block: object, inside: Frame[]) => [
    event({ type: "content_block_start", index, content_block }),
    ...inside,
    event({ type: "content_block_stop", index }),
  ]
  switch (block.kind) {
    case "reasoning":
      return wrap({ type: "thinking", thinking: "", signature: "" }, [
        ...block.deltas.map((thinking) => delta(index, { type: "thinking_delta", thinking })),
        event({ type: "content_block_delta", index, delta: { type: "signature_delta", signature: block.signature } }),
      ])
    case "redacted":
      return wrap({ type: "redacted_thinking", data: block.data }, [])
    case "text":
      return wrap({ type: "text", citations: null, text: "" }, textFrames(index, block.deltas))
    case "refusal":
      return wrap({ type: "text", citations: null, text: "" }, textFrames(index, [block.text]))
    case "call": {
      const { call } = block
      return wrap({ ...callHead(call), input: {} }, [
        event({ type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: "" } }),
        ...call.fragments.map((partial_json) => delta(index, { type: "input_json_delta", partial_json })),
      ])
    }
    default:
      return assertNever(block)
  }
}

function textFrames(index: number, pieces: readonly string[]): Frame[] {
  return pieces.map((text) => delta(index, { type: "text_delta", text }))
}

function delta(index: number, change: object): Frame {
  return eventFrame("content_block_delta", JSON.stringify({ type: "content_block_delta", index, delta: change }), true)
}

function event(data: { readonly type: string; readonly [key: string]: unknown }): Frame {
  return eventFrame(data.type, JSON.stringify(data), false)
}

function complete(reply: ResolvedReply): unknown {
  return {
    ...messageHead(reply),
    content: reply.blocks.map(completeBlock),
    ...ending(stopReason(reply.finish)),
    ...(reply.usage === null ? {} : { usage: usageBody(reply.usage) }),
  }
}

function completeBlock(block: ResolvedBlock): object {
  switch (block.kind) {
    case "reasoning":
      return { type: "thinking", thinking: block.deltas.join(""), signature: block.signature }
    case "redacted":
      return { type: "redacted_thinking", data: block.data }
    case "text":
      return { type: "text", citations: null, text: block.deltas.join("") }
    case "refusal":
      return { type: "text", citations: null, text: block.text }
    case "call":
      return { ...callHead(block.call), input: inputValue(block.call) }
    default:
      return assertNever(block)
  }
}

function messageHead(reply: ResolvedReply): object {
  return {
    model: reply.model,
    id: `msg_${reply.serial}`,
    type: "message",
    role: "assistant",
    container: null,
    diagnostics: null,
  }
}

function ending(reason: string | null): object {
  return { stop_reason: reason, stop_sequence: null, stop_details: null }
}

function callHead(call: ResolvedCall): object {
  return { type: "tool_use", id: callId(call), caller: { type: "direct" }, name: call.name }
}

function callId(call: ResolvedCall): string {
  return call.id ?? `toolu_${call.serial}`
}

function usageBody(usage: Usage): object {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite, ephemeral_1h_input_tokens: 0 },
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: null,
    service_tier: "standard",
    inference_geo: null,
    speed: null,
  }
}

function deltaUsage(usage: Usage): object {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite,
    cache_read_input_tokens: usage.cacheRead,
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: null,
  }
}

const STOP_REASONS = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  content_filter: "refusal",
  incomplete: "pause_turn",
} as const satisfies Record<FinishReason, string>

function stopReason(finish: FinishReason): string {
  return STOP_REASONS[finish]
}

function errorType(status: number): string {
  const types: Record<number, string> = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
  }
  return types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error")
}

function view(body: unknown): RequestView {
  return {
    model: stringField(body, "model") ?? "",
    system: isRecord(body) ? partsText(body["system"]) : "",
    tools: recordsIn(body, "tools").map((tool) => stringField(tool, "name") ?? ""),
    messages: recordsIn(body, "messages").map(messageView),
  }
}

function messageView(message: Record<string, unknown>): MessageView {
  const blocks = recordsIn(message, "content")
  return {
    role: message["role"] === "assistant" ? "assistant" : "user",
    text: partsText(message["content"]),
    calls: blocks
      .filter((block) => block["type"] === "tool_use")
      .map((block) => ({
        id: stringField(block, "id") ?? "",
        name: stringField(block, "name") ?? "",
        input: block["input"],
      })),
    results: blocks
      .filter((block) => block["type"] === "tool_result")
      .map((block) => ({ id: stringField(block, "tool_use_id") ?? "", text: partsText(block["content"]) })),
  }
}
