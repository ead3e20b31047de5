import { assertNever } from "../../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson } from "../../../base/json.ts"
import { sha256Hex } from "../../../base/random-and-hash.ts"
import { scrubSurrogates } from "../../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage, UserMessage } from "../../../protocol/message.ts"
import { encodeRecent } from "../encode-recent.ts"
import { omittedImageNote, parseImageDataUrl } from "../image-data-url.ts"
import { openToolLoop } from "../open-tool-loop.ts"
import type { HistoryEncoding } from "../wire.ts"

/**
 * What a model accepts in its history. `claude`: signed reasoning, and images in tool results. `nova`: images in tool
 * results. `plain`: tool blocks with text only. `text`: no tool blocks, which Converse rejects in a request that
 * declares no tools.
 */
export type HistoryFormat = "claude" | "nova" | "plain" | "text"

/** Encodes the conversation. Converse requires alternating roles, with a user message first and last. */
export function createHistoryEncoder(): (messages: readonly Message[], format: HistoryFormat) => HistoryEncoding {
  const encoderFor = (format: HistoryFormat) =>
    encodeRecent((message: ConversationMessage) => blocksOf(message, format).join(","))
  const encoders: Record<HistoryFormat, (message: ConversationMessage) => string> = {
    claude: encoderFor("claude"),
    nova: encoderFor("nova"),
    plain: encoderFor("plain"),
    text: encoderFor("text"),
  }
  return (messages, format) => ({
    messages,
    format,
    settled: messages.length,
    encode: (from, to) => {
      const conversation = messages.slice(from, to).filter((message) => message.role !== "system")
      const turns: { readonly role: "user" | "assistant"; readonly blocks: string[] }[] = []
      if (from === 0 && conversation[0]?.role === "assistant") turns.push({ role: "user", blocks: [FILLER] })
      for (const message of conversation) {
        const role = message.role === "assistant" ? "assistant" : "user"
        const last = turns.at(-1)
        if (last?.role === role) last.blocks.push(encoders[format](message))
        else turns.push({ role, blocks: [encoders[format](message)] })
      }
      if (to === messages.length && turns.at(-1)?.role !== "user") turns.push({ role: "user", blocks: [FILLER] })
      return turns.map(({ role, blocks }) => `{"role":"${role}","content":[${blocks.join(",")}]}`).join(",")
    },
  })
}

/** The request continues a tool loop that does not begin with signed reasoning: another model made its first calls. */
export function loopLacksReasoning(messages: readonly Message[]): boolean {
  const first = openToolLoop(messages)
  return first !== undefined && signedReasoning(first).length === 0
}

/** Converse rejects empty text. */
const FILLER = textBlock(" ")

/** The type under which signed reasoning is stored, so that no other wire format sends it. */
export const REASONING_TYPE = "bedrock.reasoning"

type ConversationMessage = UserMessage | AssistantMessage | ToolMessage

function blocksOf(message: ConversationMessage, format: HistoryFormat): readonly string[] {
  switch (message.role) {
    case "user":
      return orFiller([
        ...partBlocks(message.content, { images: true }),
        ...(message.injected === undefined ? [] : [textBlock(message.injected)]),
      ])
    case "assistant":
      return orFiller([
        ...(format === "claude" ? signedReasoning(message) : []),
        ...partBlocks(message.content ?? "", { images: false }),
        ...(message.tool_calls ?? []).map((call) => callBlock(call, format)),
      ])
    case "tool":
      return [resultBlock(message, format)]
    default:
      return assertNever(message)
  }
}

function signedReasoning(message: AssistantMessage): readonly string[] {
  return (message.reasoning_details ?? []).flatMap((detail) =>
    isRecord(detail) && detail["type"] === REASONING_TYPE && isRecord(detail["reasoningContent"])
      ? [JSON.stringify({ reasoningContent: detail["reasoningContent"] })]
      : [],
  )
}

function partBlocks(content: string | readonly Part[], { images }: { readonly images: boolean }): readonly string[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content
  return parts.flatMap((part) => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [textBlock(part.text)]
    const { url } = part.image_url
    return [(images ? imageBlock(url) : undefined) ?? textBlock(omittedImageNote(url))]
  })
}

function imageBlock(url: string): string | undefined {
  const image = parseImageDataUrl(url)
  const format = image === undefined ? undefined : IMAGE_FORMATS[image.mimeType]
  return image === undefined || format === undefined
    ? undefined
    : JSON.stringify({ image: { format, source: { bytes: image.base64 } } })
}

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/jpg": "jpeg",
  "image/gif": "gif",
  "image/webp": "webp",
}

function callBlock(call: ToolCall, format: HistoryFormat): string {
  const { name } = call.function
  const parsed = parseJson(call.function.arguments)
  const input = canonicalJson(isRecord(parsed) ? parsed : {})
  if (format === "text") return textBlock(`[called ${name} with ${input}]`)
  return `{"toolUse":{"toolUseId":${JSON.stringify(toolUseId(call.id))},"name":${JSON.stringify(name)},"input":${input}}}`
}

function resultBlock(message: ToolMessage, format: HistoryFormat): string {
  const blocks = orFiller(partBlocks(message.content, { images: format === "claude" || format === "nova" }))
  if (format !== "text") {
    return `{"toolResult":{"toolUseId":${JSON.stringify(toolUseId(message.tool_call_id))},"content":[${blocks.join(",")}]}}`
  }
  return [textBlock(`[result of ${message.tool_name}]`), ...blocks].join(",")
}

/** AWS allows 64 characters of `A–Z a–z 0–9 _ -`. Converts the ids of other providers, in calls and results alike. */
function toolUseId(id: string): string {
  const valid = id.replaceAll(/[^A-Za-z0-9_-]/g, "_")
  if (valid === "") return "tool_0"
  return valid.length <= 64 ? valid : `${valid.slice(0, 51)}_${sha256Hex(id).slice(0, 12)}`
}

function orFiller(blocks: readonly string[]): readonly string[] {
  return blocks.length === 0 ? [FILLER] : blocks
}

function textBlock(text: string): string {
  return JSON.stringify({ text: scrubSurrogates(text) })
}
