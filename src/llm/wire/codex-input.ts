import { assertNever } from "../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson, stringField } from "../../base/json.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage } from "../../protocol/message.ts"
import { callIdOf, callIdOfText, MAX_ID_LENGTH } from "./codex-call-id.ts"
import type { CodexEndpoint } from "./codex-endpoint.ts"
import type { Item } from "./codex-item.ts"
import { messageItemText, partsOf } from "./codex-item.ts"

/** Writes the items of a history. What was written for a message is kept, so that the same message always gives the same bytes. */
export function createInputWriter(endpoint: CodexEndpoint): (messages: readonly Message[]) => string {
  const written = new WeakMap<Message, Written>()
  return (messages) => {
    // Results name their call by our id; where the call has another one on this wire, so must the result.
    const renamed = new Map<string, string>()
    const pieces: string[] = []
    for (const message of messages) {
      if (message.role === "assistant") for (const call of message.tool_calls ?? []) noteRename(renamed, call)
      const callId = message.role === "tool" ? resultId(message, renamed) : ""
      const known = written.get(message)
      const piece =
        known?.callId === callId
          ? known.bytes
          : itemsOf(message, endpoint, callId)
              .map((item) => JSON.stringify(item))
              .join(",")
      if (known?.bytes !== piece) written.set(message, { callId, bytes: piece })
      if (piece !== "") pieces.push(piece)
    }
    return `[${pieces.join(",")}]`
  }
}

interface Written {
  readonly callId: string
  readonly bytes: string
}

function noteRename(renamed: Map<string, string>, call: ToolCall): void {
  const callId = callIdOf(call)
  if (callId !== callIdOfText(call.id)) renamed.set(call.id, callId)
}

function resultId(message: ToolMessage, renamed: ReadonlyMap<string, string>): string {
  return renamed.get(message.tool_call_id) ?? callIdOfText(message.tool_call_id)
}

function itemsOf(message: Message, endpoint: CodexEndpoint, callId: string): readonly object[] {
  switch (message.role) {
    case "system":
      return [{ role: "developer", content: [inputText(cleanText(message.content))] }]
    case "user":
      return [{ role: "user", content: userParts(message.content, message.injected) }]
    case "assistant":
      return assistantItems(message, endpoint)
    case "tool":
      return [{ type: "function_call_output", call_id: callId, output: toolOutput(message, endpoint) }]
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

/** A result may hold images; xAI documents text only. */
function toolOutput(message: ToolMessage, endpoint: CodexEndpoint): string | readonly object[] {
  const { content } = message
  if (typeof content === "string") return cleanText(content)
  if (endpoint.vendor !== "xai" && content.some((part) => part.type === "image_url")) return content.map(inputPart)
  return content
    .map((part) => (part.type === "text" ? scrubSurrogates(part.text) : "[image not sent to this model]"))
    .join("\n")
}

/** Reasoning comes before what it led to. A turn of which only reasoning is left needs an answer behind it, or it is refused. */
function assistantItems(message: AssistantMessage, endpoint: CodexEndpoint): readonly object[] {
  const thoughts = (message.codex_reasoning_items ?? []).flatMap((item) => replayedReasoning(item, endpoint))
  const spoken = messageItems(message, endpoint)
  const calls = (message.tool_calls ?? []).map(callItem)
  const alone = thoughts.length > 0 && spoken.length === 0 && calls.length === 0
  return [...thoughts, ...(alone ? [plainMessage("")] : spoken), ...calls]
}

/** Only its issuer can read an encrypted item, and without the encrypted part there is nothing to give back. */
function replayedReasoning(item: unknown, endpoint: CodexEndpoint): readonly object[] {
  if (!isRecord(item) || isForeign(item, endpoint)) return []
  const encrypted = stringField(item, "encrypted_content") ?? ""
  if (encrypted === "" || stringField(item, "id")?.startsWith("rs_tmp_") === true) return []
  const summary = Array.isArray(item["summary"]) ? item["summary"] : []
  return [{ type: "reasoning", summary, encrypted_content: encrypted }]
}

function isForeign(item: Item, endpoint: CodexEndpoint): boolean {
  const issuer = stringField(item, "_issuer_kind")
  return issuer !== undefined && issuer !== endpoint.issuerKind
}

/** The stored items know id, phase and status, but the message is what counts: where its text was changed, they are stale. */
function messageItems(message: AssistantMessage, endpoint: CodexEndpoint): readonly object[] {
  const text = assistantText(message.content)
  if (text === "") return []
  const stored = (message.codex_message_items ?? []).filter(isRecord).filter((item) => !isForeign(item, endpoint))
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

function cleanText(text: string): string {
  return scrubSurrogates(text).trim()
}
