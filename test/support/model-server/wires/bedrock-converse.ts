import { assertNever } from "../../../../src/base/assert-never.ts"
import { isRecord, stringField } from "../../../../src/base/json.ts"
import type { FinishReason } from "../../../../src/protocol/message.ts"
import type { Usage } from "../../../../src/protocol/usage.ts"
import { promptTokens } from "../../../../src/protocol/usage.ts"
import { encodeEventStreamMessage } from "../event-stream.ts"
import type { MessageView, RequestView } from "../recorded-request.ts"
import { partsText, recordsIn } from "../request-parts.ts"
import { thinkingRejection } from "../thinking-rejection.ts"
import type { ResolvedReply, ResolvedCall, ResolvedBlock, Frame, PathMatch, Wire } from "../wire.ts"
import { inputValue, pathOnly } from "../wire.ts"

/** Amazon Bedrock Converse; the stream is binary. */
export const bedrockConverse: Wire = {
  name: "bedrock-converse",
  match: (path) => {
    const found = /\/model\/([^/]+)\/(converse|converse-stream)$/.exec(pathOnly(path))
    return found === null
      ? undefined
      : { model: decodeURIComponent(found[1] ?? ""), stream: found[2] === "converse-stream" }
  },
  streamType: () => "application/vnd.amazon.eventstream",
  requestIdHeader: "x-amzn-requestid",
  wantsStream: (_body, match) => match.stream === true,
  rejection,
  stream,
  complete,
  failure: (status, message) => ({ body: { message }, headers: { "x-amzn-errortype": exceptionName(status) } }),
  corrupt: (frame) => {
    const bytes = Buffer.from(frame.bytes)
    const last = bytes.length - 1
    bytes.writeUInt8(bytes.readUInt8(last) ^ 0xff, last)
    return { ...frame, bytes }
  },
  view,
}

/** Claude's own check: with a thinking budget, the assistant turn that a tool result continues must begin with reasoning. */
function rejection(body: unknown): string | undefined {
  const fields = isRecord(body) ? body["additionalModelRequestFields"] : undefined
  if (!isRecord(fields) || stringField(fields["thinking"], "type") !== "enabled") return undefined
  const turns = recordsIn(body, "messages").map((message) => ({
    role: message["role"],
    types: recordsIn(message, "content").map((block) => Object.keys(block)[0] ?? ""),
  }))
  const found = thinkingRejection(turns, { result: "toolResult", thinking: ["reasoningContent"] })
  return found === undefined ? undefined : `The model returned the following errors: ${found}`
}

function stream(reply: ResolvedReply): readonly Frame[] {
  const frames: Frame[] = [
    event("messageStart", { p: "abcdefghij", role: "assistant" }, false),
    ...reply.blocks.flatMap((block, index) => blockFrames(block, index)),
  ]
  if (reply.streamError !== null) {
    const { type, message } = reply.streamError
    const headers = { ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" }
    return [...frames, { bytes: encodeEventStreamMessage(headers, JSON.stringify({ message })), delta: false }]
  }
  frames.push(event("messageStop", { p: "abcdef", stopReason: stopReason(reply.finish) }, false))
  const usage = reply.usage === null ? {} : { usage: usageBody(reply.usage) }
  frames.push(event("metadata", { metrics: { latencyMs: 100 }, p: "abcdefgh", ...usage }, false))
  return frames
}

/** Only a tool use has a start event. Text and reasoning begin with their first delta. */
function blockFrames(block: ResolvedBlock, contentBlockIndex: number): Frame[] {
  const delta = (change: object) => event("contentBlockDelta", { contentBlockIndex, delta: change, p: "abcd" }, true)
  const stop = event("contentBlockStop", { contentBlockIndex, p: "abcdefghijklmn" }, false)
  switch (block.kind) {
    case "reasoning":
      return [
        ...block.deltas.map((text) => delta({ reasoningContent: { text } })),
        { ...delta({ reasoningContent: { signature: block.signature } }), delta: false },
        stop,
      ]
    case "redacted":
      return [{ ...delta({ reasoningContent: { redactedContent: base64(block.data) } }), delta: false }, stop]
    case "text":
      return [...block.deltas.map((text) => delta({ text })), stop]
    case "refusal":
      return [delta({ text: block.text }), stop]
    case "call": {
      const start = { toolUse: { name: block.call.name, toolUseId: callId(block.call) } }
      return [
        event("contentBlockStart", { contentBlockIndex, p: "abcdefg", start }, false),
        ...block.call.fragments.map((input) => delta({ toolUse: { input } })),
        stop,
      ]
    }
    default:
      return assertNever(block)
  }
}

function event(type: string, payload: object, delta: boolean): Frame {
  const headers = { ":event-type": type, ":content-type": "application/json", ":message-type": "event" }
  return { bytes: encodeEventStreamMessage(headers, JSON.stringify(payload)), delta }
}

function complete(reply: ResolvedReply): unknown {
  return {
    metrics: { latencyMs: 100 },
    output: { message: { content: reply.blocks.map(completeBlock), role: "assistant" } },
    stopReason: stopReason(reply.finish),
    ...(reply.usage === null ? {} : { usage: usageBody(reply.usage) }),
  }
}

function completeBlock(block: ResolvedBlock): object {
  switch (block.kind) {
    case "reasoning":
      return { reasoningContent: { reasoningText: { signature: block.signature, text: block.deltas.join("") } } }
    case "redacted":
      return { reasoningContent: { redactedContent: base64(block.data) } }
    case "text":
      return { text: block.deltas.join("") }
    case "refusal":
      return { text: block.text }
    case "call":
      return { toolUse: { input: inputValue(block.call), name: block.call.name, toolUseId: callId(block.call) } }
    default:
      return assertNever(block)
  }
}

/** JSON contains blobs as base64. */
function base64(text: string): string {
  return Buffer.from(text).toString("base64")
}

function callId(call: ResolvedCall): string {
  return call.id ?? `tooluse_${call.serial}`
}

function usageBody(usage: Usage): object {
  return {
    cacheReadInputTokens: usage.cacheRead,
    cacheWriteInputTokens: usage.cacheWrite,
    inputTokens: usage.input,
    outputTokens: usage.output,
    totalTokens: promptTokens(usage) + usage.output,
  }
}

const STOP_REASONS = {
  stop: "end_turn",
  tool_calls: "tool_use",
  length: "max_tokens",
  content_filter: "content_filtered",
  incomplete: "max_tokens",
} as const satisfies Record<FinishReason, string>

function stopReason(finish: FinishReason): string {
  return STOP_REASONS[finish]
}

function exceptionName(status: number): string {
  const names: Record<number, string> = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
  }
  return names[status] ?? (status >= 500 ? "InternalServerException" : "ValidationException")
}

function view(body: unknown, match: PathMatch): RequestView {
  const tools = isRecord(body) ? recordsIn(body["toolConfig"], "tools") : []
  return {
    model: match.model ?? "",
    system: isRecord(body) ? partsText(body["system"]) : "",
    tools: tools.flatMap((tool) => stringField(tool["toolSpec"], "name") ?? []),
    messages: recordsIn(body, "messages").map(messageView),
  }
}

function messageView(message: Record<string, unknown>): MessageView {
  const blocks = recordsIn(message, "content")
  return {
    role: message["role"] === "assistant" ? "assistant" : "user",
    text: partsText(message["content"]),
    calls: blocks.flatMap(({ toolUse }) =>
      isRecord(toolUse)
        ? [
            {
              id: stringField(toolUse, "toolUseId") ?? "",
              name: stringField(toolUse, "name") ?? "",
              input: toolUse["input"],
            },
          ]
        : [],
    ),
    results: blocks.flatMap(({ toolResult }) =>
      isRecord(toolResult)
        ? [{ id: stringField(toolResult, "toolUseId") ?? "", text: resultText(toolResult["content"]) }]
        : [],
    ),
  }
}

function resultText(content: unknown): string {
  const text = partsText(content)
  const json = Array.isArray(content) ? content.filter(isRecord).find((part) => part["json"] !== undefined) : undefined
  return text === "" && json !== undefined ? JSON.stringify(json["json"]) : text
}
