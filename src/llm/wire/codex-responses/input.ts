import { assertNever } from "../../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson, stringField } from "../../../base/json.ts"
import { scrubSurrogates } from "../../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage } from "../../../protocol/message.ts"
import { encodeRecent } from "../encode-recent.ts"
import { cleanText } from "../request-text.ts"
import type { HistoryEncoding } from "../wire.ts"
import { callIdOf, toCallId, MAX_ID_LENGTH } from "./call-id.ts"
import type { EndpointTraits } from "./endpoint-traits.ts"
import type { Item } from "./item.ts"
import { messageItemText, partsOf } from "./item.ts"

/** Encodes a history as the `input` array. */
export function createInputEncoder(traits: EndpointTraits): (messages: readonly Message[]) => HistoryEncoding {
  const encodeMessage = encodeRecent((message: Exclude<Message, ToolMessage>) =>
    itemsOf(message, traits)
      .map((item) => JSON.stringify(item))
      .join(","),
  )
  const encodeOutput = encodeRecent((message: ToolMessage) => JSON.stringify(toolOutput(message, traits)))
  return (messages) => ({
    messages,
    format: "",
    settled: messages.length,
    encode: (from, to) => {
      // A stored result refers to the internal id of its call; where the API's call id differs, the result must use that.
      const renamed = new Map<string, string>()
      const items = messages.slice(from, to).map((message) => {
        if (message.role === "assistant") for (const call of message.tool_calls ?? []) noteRename(renamed, call)
        return message.role === "tool"
          ? `{"type":"function_call_output","call_id":${JSON.stringify(resultId(message, renamed))},"output":${encodeOutput(message)}}`
          : encodeMessage(message)
      })
      return items.filter((item) => item !== "").join(",")
    },
  })
}

function noteRename(renamed: Map<string, string>, call: ToolCall): void {
  const callId = callIdOf(call)
  if (callId !== toCallId(call.id)) renamed.set(call.id, callId)
}

function resultId(message: ToolMessage, renamed: ReadonlyMap<string, string>): string {
  return renamed.get(message.tool_call_id) ?? toCallId(message.tool_call_id)
}

function itemsOf(message: Exclude<Message, ToolMessage>, traits: EndpointTraits): readonly object[] {
  switch (message.role) {
    case "system":
      return [{ role: "developer", content: [inputText(cleanText(message.content))] }]
    case "user":
      return [{ role: "user", content: userParts(message.content, message.injected) }]
    case "assistant":
      return assistantItems(message, traits)
    default:
      return assertNever(message)
  }
}

function userParts(content: string | readonly Part[], injected: string | undefined): readonly object[] {
  const extra = injected === undefined ? undefined : scrubSurrogates(injected)
  if (typeof content === "string") {
    const text = cleanText(content)
    return [inputText(extra === undefined ? text : `${text}\n\n${extra}`)]
  }
  return [...content.map(inputPart), ...(extra === undefined ? [] : [inputText(extra)])]
}

function inputPart(part: Part): object {
  switch (part.type) {
    case "text":
      return inputText(scrubSurrogates(part.text))
    case "image_url":
      return { type: "input_image", image_url: part.image_url.url, detail: part.image_url.detail ?? "auto" }
    default:
      return assertNever(part)
  }
}

function inputText(text: string): object {
  return { type: "input_text", text }
}

/** Tool results may contain images, except at xAI, which documents text only. */
function toolOutput(message: ToolMessage, traits: EndpointTraits): string | readonly object[] {
  const { content } = message
  if (typeof content === "string") return cleanText(content)
  if (traits.vendor !== "xai" && content.some((part) => part.type === "image_url")) return content.map(inputPart)
  return content
    .map((part) => (part.type === "text" ? scrubSurrogates(part.text) : "[image not sent to this model]"))
    .join("\n")
}

/**
 * Reasoning precedes the items it led to. The server rejects a turn of reasoning alone, so an empty message follows it.
 */
function assistantItems(message: AssistantMessage, traits: EndpointTraits): readonly object[] {
  const reasoning = (message.codex_reasoning_items ?? []).flatMap((item) => replayedReasoning(item, traits))
  const texts = messageItems(message, traits)
  const calls = (message.tool_calls ?? []).map(callItem)
  const alone = reasoning.length > 0 && texts.length === 0 && calls.length === 0
  return [...reasoning, ...(alone ? [plainMessage("")] : texts), ...calls]
}

/** Only the issuer can decrypt an item, and an item without encrypted content is useless to the server. */
function replayedReasoning(item: unknown, traits: EndpointTraits): readonly object[] {
  if (!isRecord(item) || isForeign(item, traits)) return []
  const encrypted = stringField(item, "encrypted_content") ?? ""
  if (encrypted === "" || stringField(item, "id")?.startsWith("rs_tmp_") === true) return []
  const summary = Array.isArray(item["summary"]) ? item["summary"] : []
  return [{ type: "reasoning", summary, encrypted_content: encrypted }]
}

function isForeign(item: Item, traits: EndpointTraits): boolean {
  const issuer = stringField(item, "_issuer_kind")
  return issuer !== undefined && issuer !== traits.issuerKind
}

/**
 * The stored items contain id, phase and status; when the text of the message was changed since, they are outdated and
 * not sent.
 */
function messageItems(message: AssistantMessage, traits: EndpointTraits): readonly object[] {
  const text = assistantText(message.content)
  if (text === "") return []
  const stored = (message.codex_message_items ?? []).filter(isRecord).filter((item) => !isForeign(item, traits))
  if (cleanText(stored.map(messageItemText).join("\n")) !== text) return [plainMessage(text)]
  return stored.map(replayedMessage)
}

function replayedMessage(item: Item): object {
  const id = stringField(item, "id") ?? ""
  const status = stringField(item, "status")
  const phase = stringField(item, "phase")
  return {
    type: "message",
    ...(id === "" || id.length > MAX_ID_LENGTH ? {} : { id }),
    role: "assistant",
    ...(status === undefined ? {} : { status }),
    ...(phase === undefined ? {} : { phase }),
    content: partsOf(item).map((part) =>
      part["type"] === "refusal"
        ? { type: "refusal", refusal: scrubSurrogates(stringField(part, "refusal") ?? "") }
        : outputText(scrubSurrogates(stringField(part, "text") ?? "")),
    ),
  }
}

function plainMessage(text: string): object {
  return { type: "message", role: "assistant", status: "completed", content: [outputText(text)] }
}

function outputText(text: string): object {
  return { type: "output_text", text, annotations: [] }
}

function assistantText(content: AssistantMessage["content"]): string {
  if (content === null) return ""
  if (typeof content === "string") return cleanText(content)
  return cleanText(content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"))
}

function callItem(call: ToolCall): object {
  const parsed = parseJson(call.function.arguments)
  return {
    type: "function_call",
    call_id: callIdOf(call),
    name: call.function.name,
    arguments: isRecord(parsed) ? canonicalJson(parsed) : scrubSurrogates(call.function.arguments),
  }
}
