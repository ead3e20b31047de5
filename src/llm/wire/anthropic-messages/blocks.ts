import { assertNever } from "../../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson, stringField } from "../../../base/json.ts"
import { scrubSurrogates } from "../../../base/text.ts"
import { contentText } from "../../../protocol/message.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage, UserMessage } from "../../../protocol/message.ts"
import { cleanText } from "../request-text.ts"
import { omittedImageNote, parseImageDataUrl } from "../image-data-url.ts"

/** A content block as encoded JSON, with the facts that decide about its position in the conversation. */
export type Block =
  | { readonly kind: "text" | "image"; readonly json: string }
  | { readonly kind: "tool_use" | "tool_result"; readonly id: string; readonly json: string }
  /** `text` is empty for redacted thinking, which only the server can read. */
  | { readonly kind: "thinking"; readonly signed: boolean; readonly text: string; readonly json: string }

/** The blocks of a single message. `history.ts` applies the rules that depend on neighbouring messages. */
export function blocksOf(
  message: Exclude<Message, { role: "system" }>,
  options: { readonly images: "kept" | "omitted" },
): readonly Block[] {
  switch (message.role) {
    case "user":
      return userBlocks(message)
    case "assistant":
      return assistantBlocks(message)
    case "tool":
      return [resultBlock(message, options.images)]
    default:
      return assertNever(message)
  }
}

export function textBlock(text: string): Block {
  return { kind: "text", json: JSON.stringify({ type: "text", text }) }
}

export const EMPTY_MESSAGE = "(empty message)"

function userBlocks(message: UserMessage): readonly Block[] {
  const blocks = partBlocks(message.content)
  const injected = scrubSurrogates(message.injected ?? "")
  if (injected.trim() === "") return blocks.length === 0 ? [textBlock(EMPTY_MESSAGE)] : blocks
  return typeof message.content === "string" && blocks.length > 0
    ? [textBlock(`${cleanText(message.content)}\n\n${injected}`)]
    : [...blocks, textBlock(injected)]
}

/** The server rejects empty text blocks, so empty text produces none. */
function partBlocks(content: string | readonly Part[] | null): Block[] {
  if (content === null) return []
  return partValues(content).map((value): Block =>
    value["type"] === "image"
      ? { kind: "image", json: JSON.stringify(value) }
      : { kind: "text", json: JSON.stringify(value) },
  )
}

function partValues(content: string | readonly Part[]): Readonly<Record<string, unknown>>[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content
  return parts.flatMap((part) => {
    if (part.type === "image_url") return [imageValue(part.image_url.url)]
    const text = cleanText(part.text)
    return text === "" ? [] : [{ type: "text", text }]
  })
}

function imageValue(url: string): Readonly<Record<string, unknown>> {
  const inline = parseImageDataUrl(url)
  if (inline !== undefined) {
    return { type: "image", source: { type: "base64", media_type: inline.mimeType, data: inline.base64 } }
  }
  if (/^https?:\/\//i.test(url)) return { type: "image", source: { type: "url", url } }
  return { type: "text", text: omittedImageNote(url) }
}

function assistantBlocks(message: AssistantMessage): readonly Block[] {
  const calls = message.tool_calls ?? []
  const kept = message.anthropic_content_blocks ?? []
  const blocks = kept.length > 0 ? orderedBlocks(message, kept) : [...thinkingBlocks(message), ...textBlocks(message)]
  const included = new Set(blocks.flatMap((block) => (block.kind === "tool_use" ? [block.id] : [])))
  const all = [...blocks, ...calls.map(callBlock).filter((block) => !included.has(block.id))]
  return all.length === 0 ? [textBlock(EMPTY_MESSAGE)] : all
}

/** The server rejects images in assistant messages. */
function textBlocks(message: AssistantMessage): Block[] {
  return partBlocks(message.content).filter((block) => block.kind === "text")
}

function thinkingBlocks(message: AssistantMessage): readonly Block[] {
  const detailed = (message.reasoning_details ?? []).flatMap(thinkingBlock)
  if (detailed.length > 0 || message.reasoning_content === undefined) return detailed
  return thinkingBlock({ type: "thinking", thinking: message.reasoning_content })
}

/**
 * The blocks in the order in which the model produced them. Inputs come from `tool_calls` and changed text from
 * `content`, because secrets are masked there and not in the stored blocks.
 */
function orderedBlocks(message: AssistantMessage, kept: readonly unknown[]): readonly Block[] {
  const calls = new Map((message.tool_calls ?? []).map((call) => [call.id, callBlock(call)]))
  const texts = kept.flatMap((block) =>
    stringField(block, "type") === "text" ? [stringField(block, "text") ?? ""] : [],
  )
  const unchanged = cleanText(texts.join("\n")) === cleanText(contentText(message.content))
  let replacement = unchanged ? [] : textBlocks(message)
  const ordered = kept.flatMap((block): readonly Block[] => {
    switch (stringField(block, "type")) {
      case "thinking":
      case "redacted_thinking":
        return thinkingBlock(block)
      case "text": {
        if (unchanged) return partBlocks(stringField(block, "text") ?? "")
        const blocks = replacement
        replacement = []
        return blocks
      }
      case "tool_use": {
        const call = calls.get(stringField(block, "id") ?? "")
        return call === undefined ? [] : [call]
      }
      default:
        return []
    }
  })
  return replacement.length === 0 ? ordered : [...replacement, ...ordered]
}

/** Keeps only the keys that the server accepts; it rejects any other key of a stored block. */
function thinkingBlock(block: unknown): readonly Block[] {
  if (stringField(block, "type") === "redacted_thinking") {
    const data = stringField(block, "data") ?? ""
    const json = JSON.stringify({ type: "redacted_thinking", data })
    return data === "" ? [] : [{ kind: "thinking", signed: true, text: "", json }]
  }
  if (stringField(block, "type") !== "thinking") return []
  const signature = stringField(block, "signature") ?? ""
  // Signed text must be sent back byte for byte.
  const text = stringField(block, "thinking") ?? ""
  if (signature !== "") {
    const json = JSON.stringify({ type: "thinking", thinking: text, signature })
    return [{ kind: "thinking", signed: true, text: cleanText(text), json }]
  }
  const plain = cleanText(text)
  const json = JSON.stringify({ type: "thinking", thinking: plain })
  return plain === "" ? [] : [{ kind: "thinking", signed: false, text: plain, json }]
}

function callBlock(call: ToolCall): Extract<Block, { kind: "tool_use" | "tool_result" }> {
  const id = wireId(call.id)
  const parsed = parseJson(call.function.arguments)
  const input = isRecord(parsed) ? canonicalJson(parsed) : "{}"
  const head = JSON.stringify({ type: "tool_use", id, name: call.function.name }).slice(0, -1)
  return { kind: "tool_use", id, json: `${head},"input":${input}}` }
}

function resultBlock(message: ToolMessage, images: "kept" | "omitted"): Block {
  const id = wireId(message.tool_call_id)
  const values = partValues(message.content).map((value) =>
    images === "omitted" && value["type"] === "image" ? { type: "text", text: OLDER_IMAGE } : value,
  )
  const only = values.length === 1 ? values[0]?.["text"] : undefined
  const content = values.length === 0 ? "(no output)" : (only ?? values)
  return { kind: "tool_result", id, json: JSON.stringify({ type: "tool_result", tool_use_id: id, content }) }
}

const OLDER_IMAGE = "[older image left out]"

/** The id of a call as the server accepts it. */
export function wireId(id: string): string {
  return id === "" ? "tool_0" : id.replaceAll(/[^\w-]/g, "_")
}
