import { assertNever } from "../../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson, stringField } from "../../../base/json.ts"
import { sha256Hex } from "../../../base/random-and-hash.ts"
import { scrubSurrogates } from "../../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall } from "../../../protocol/message.ts"
import {
  isMistral,
  isQwenPortal,
  acceptsReasoningDetails,
  acceptsToolImages,
  requiresReasoningEcho,
} from "./endpoint-traits.ts"
import { cleanText } from "../request-text.ts"
import type { WireEndpoint } from "../wire.ts"

/** How servers of this API differ in the messages they accept. */
export interface MessageFormat {
  /** Gemini requires the signature in `extra_content` of each call; other servers reject the field. */
  readonly callExtras: boolean
  readonly reasoningEcho: boolean
  readonly reasoningDetails: boolean
  /** Images in tool results; most servers accept only text there. */
  readonly toolImages: boolean
  /** Text content is always a list of parts. */
  readonly partLists: boolean
  /** Ids of tool calls have nine letters or digits; ids of other servers in the history are replaced. */
  readonly shortCallIds: boolean
}

export function messageFormat(endpoint: WireEndpoint, model: string): MessageFormat {
  return {
    callExtras: /gemini|gemma/i.test(model),
    reasoningEcho: requiresReasoningEcho(endpoint, model),
    reasoningDetails: acceptsReasoningDetails(endpoint),
    toolImages: acceptsToolImages(endpoint),
    partLists: isQwenPortal(endpoint),
    shortCallIds: isMistral(endpoint),
  }
}

/**
 * The message without Hermes's own fields. Trimmed text and canonical arguments keep its bytes equal in every request.
 */
export function toChatMessage(message: Message, format: MessageFormat): Readonly<Record<string, unknown>> {
  const fields = messageFields(message, format)
  const { content } = fields
  return format.partLists && typeof content === "string" && content !== ""
    ? { ...fields, content: [{ type: "text", text: content }] }
    : fields
}

function messageFields(message: Message, format: MessageFormat): Readonly<Record<string, unknown>> {
  switch (message.role) {
    case "system":
      return { role: "system", content: cleanText(message.content) }
    case "user":
      return { role: "user", content: withInjected(message.content, message.injected) }
    case "assistant": {
      const calls = message.tool_calls ?? []
      const content = message.content === null ? null : withInjected(message.content, undefined)
      return {
        role: "assistant",
        content: content === "" && calls.length > 0 ? null : content,
        ...reasoning(message, format),
        ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => wireCall(call, format)) }),
      }
    }
    case "tool":
      return {
        role: "tool",
        tool_call_id: callId(message.tool_call_id, format),
        content: toolContent(message.content, format),
      }
    default:
      return assertNever(message)
  }
}

/**
 * Servers that require `reasoning_content` reject an empty one, so a reply without reasoning of this server sends a
 * space.
 */
function reasoning(message: AssistantMessage, format: MessageFormat): Readonly<Record<string, unknown>> {
  const details = (message.reasoning_details ?? []).filter((block) => !isFromOtherWire(block))
  return {
    ...(format.reasoningEcho ? { reasoning_content: scrubSurrogates(message.reasoning_content ?? "") || " " } : {}),
    ...(format.reasoningDetails && details.length > 0 ? { reasoning_details: details } : {}),
  }
}

/** Blocks of other wire formats share the field; their signatures are valid only at the server that issued them. */
const OTHER_WIRE_TYPES = /^(?:thinking|redacted_thinking|bedrock\..*)$/

function isFromOtherWire(block: unknown): boolean {
  return OTHER_WIRE_TYPES.test(stringField(block, "type") ?? "")
}

function wireCall(call: ToolCall, format: MessageFormat): unknown {
  const parsed = parseJson(call.function.arguments)
  const args = isRecord(parsed) ? canonicalJson(parsed) : call.function.arguments
  const extra = format.callExtras && call.extra_content !== undefined ? { extra_content: call.extra_content } : {}
  return {
    id: callId(call.id, format),
    type: "function",
    function: { name: call.function.name, arguments: args },
    ...extra,
  }
}

function callId(id: string, { shortCallIds }: MessageFormat): string {
  return !shortCallIds || /^[a-zA-Z0-9]{9}$/.test(id) ? id : sha256Hex(id).slice(0, 9)
}

function withInjected(content: string | readonly Part[], injected: string | undefined): string | readonly Part[] {
  if (typeof content === "string") {
    const text = cleanText(content)
    return injected === undefined ? text : `${text}\n\n${scrubSurrogates(injected)}`
  }
  return injected === undefined ? content : [...content, { type: "text", text: scrubSurrogates(injected) }]
}

function toolContent(content: string | readonly Part[], format: MessageFormat): string | readonly Part[] {
  if (typeof content === "string") return cleanText(content)
  if (format.toolImages && content.some((part) => part.type === "image_url")) return content
  return content.map((part) => (part.type === "text" ? part.text : "[image not sent to this model]")).join("\n")
}
