import { assertNever } from "../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson, stringField } from "../../base/json.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall } from "../../protocol/message.ts"
import { isQwenPortal, takesReasoningDetails, takesResultImages, wantsReasoningEcho } from "./chat-places.ts"
import type { WirePlace } from "./wire.ts"

/** What differs between the servers of this wire in how a message is written. */
export interface MessageForm {
  /** Gemini wants the signature in `extra_content` back with its call; other servers reject the field. */
  readonly callExtras: boolean
  readonly reasoningEcho: boolean
  readonly reasoningDetails: boolean
  /** Images in a tool's result; most servers take only text there. */
  readonly toolImages: boolean
  /** Text always as a list of parts. */
  readonly partLists: boolean
}

export function messageForm(place: WirePlace, model: string): MessageForm {
  return {
    callExtras: /gemini|gemma/i.test(model),
    reasoningEcho: wantsReasoningEcho(place, model),
    reasoningDetails: takesReasoningDetails(place),
    toolImages: takesResultImages(place),
    partLists: isQwenPortal(place),
  }
}

/** A copy without what only we need. Trimmed text and canonical arguments keep the bytes equal on every replay. */
export function chatMessage(message: Message, form: MessageForm): Readonly<Record<string, unknown>> {
  const plain = plainMessage(message, form)
  const { content } = plain
  return form.partLists && typeof content === "string" && content !== ""
    ? { ...plain, content: [{ type: "text", text: content }] }
    : plain
}

function plainMessage(message: Message, form: MessageForm): Readonly<Record<string, unknown>> {
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
        ...reasoning(message, form),
        ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => wireCall(call, form)) }),
      }
    }
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.tool_call_id,
        content: toolContent(message.content, form),
      }
    default:
      return assertNever(message)
  }
}

/** Servers that want the echo refuse an empty one, so a reply without reasoning (or with another's) sends a space. */
function reasoning(message: AssistantMessage, form: MessageForm): Readonly<Record<string, unknown>> {
  const details = (message.reasoning_details ?? []).filter((block) => !isOfAnotherWire(block))
  return {
    ...(form.reasoningEcho ? { reasoning_content: scrubSurrogates(message.reasoning_content ?? "") || " " } : {}),
    ...(form.reasoningDetails && details.length > 0 ? { reasoning_details: details } : {}),
  }
}

/** Blocks of other wires share the field; their signatures are good for those who made them and nobody else. */
const OF_OTHER_WIRES = /^(?:thinking|redacted_thinking|bedrock\..*)$/

function isOfAnotherWire(block: unknown): boolean {
  return OF_OTHER_WIRES.test(stringField(block, "type") ?? "")
}

function wireCall(call: ToolCall, form: MessageForm): unknown {
  const parsed = parseJson(call.function.arguments)
  const args = isRecord(parsed) ? canonicalJson(parsed) : call.function.arguments
  const extra = form.callExtras && call.extra_content !== undefined ? { extra_content: call.extra_content } : {}
  return { id: call.id, type: "function", function: { name: call.function.name, arguments: args }, ...extra }
}

function withInjected(content: string | readonly Part[], injected: string | undefined): string | readonly Part[] {
  if (typeof content === "string") {
    const text = cleanText(content)
    return injected === undefined ? text : `${text}\n\n${scrubSurrogates(injected)}`
  }
  return injected === undefined ? content : [...content, { type: "text", text: scrubSurrogates(injected) }]
}

function toolContent(content: string | readonly Part[], form: MessageForm): string | readonly Part[] {
  if (typeof content === "string") return cleanText(content)
  if (form.toolImages && content.some((part) => part.type === "image_url")) return content
  return content.map((part) => (part.type === "text" ? part.text : "[image not sent to this model]")).join("\n")
}

function cleanText(text: string): string {
  return scrubSurrogates(text).trim()
}
