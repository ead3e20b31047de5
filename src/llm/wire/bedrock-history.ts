import { assertNever } from "../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson } from "../../base/json.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage, UserMessage } from "../../protocol/message.ts"
import { imageNote, inlineImage } from "./inline-image.ts"

/**
 * What a model takes in its history. `claude`: sealed thoughts, and pictures in tool results. `nova`: those pictures. `plain`: tool
 * blocks with text only. `text`: no tool blocks at all, since Converse refuses them in a request that declares no tools.
 */
export type HistoryForm = "claude" | "nova" | "plain" | "text"

/**
 * The conversation as Converse wants it: neighbours of one role are one message, and both ends are the user's. The bytes of a
 * message are made once.
 */
export function createHistoryEncoder(): (messages: readonly Message[], form: HistoryForm) => string {
  const encoded: Record<HistoryForm, WeakMap<Message, string>> = {
    claude: new WeakMap(),
    nova: new WeakMap(),
    plain: new WeakMap(),
    text: new WeakMap(),
  }
  const encodeOnce = (message: Conversational, form: HistoryForm): string => {
    const known = encoded[form].get(message)
    if (known !== undefined) return known
    const bytes = blocksOf(message, form).join(",")
    encoded[form].set(message, bytes)
    return bytes
  }
  return (messages, form) => {
    const spoken = messages.filter((message) => message.role !== "system")
    const turns: { readonly role: "user" | "assistant"; readonly blocks: string[] }[] = []
    if (spoken[0]?.role === "assistant") turns.push({ role: "user", blocks: [FILLER] })
    for (const message of spoken) {
      const role = message.role === "assistant" ? "assistant" : "user"
      const last = turns.at(-1)
      if (last?.role === role) last.blocks.push(encodeOnce(message, form))
      else turns.push({ role, blocks: [encodeOnce(message, form)] })
    }
    if (turns.at(-1)?.role !== "user") turns.push({ role: "user", blocks: [FILLER] })
    return `[${turns.map(({ role, blocks }) => `{"role":"${role}","content":[${blocks.join(",")}]}`).join(",")}]`
  }
}

/** Converse accepts no empty text. */
const FILLER = textBlock(" ")

/** The sealed thought of a reply, as it goes back: kept under our own type, so that no other wire takes it for its own. */
export const REASONING_TYPE = "bedrock.reasoning"

type Conversational = UserMessage | AssistantMessage | ToolMessage

function blocksOf(message: Conversational, form: HistoryForm): readonly string[] {
  switch (message.role) {
    case "user":
      return orFiller([
        ...partBlocks(message.content, { images: true }),
        ...(message.injected === undefined ? [] : [textBlock(message.injected)]),
      ])
    case "assistant":
      return orFiller([
        ...(form === "claude" ? sealedThoughts(message) : []),
        ...partBlocks(message.content ?? "", { images: false }),
        ...(message.tool_calls ?? []).map((call) => callBlock(call, form)),
      ])
    case "tool":
      return [resultBlock(message, form)]
    default:
      return assertNever(message)
  }
}

function sealedThoughts(message: AssistantMessage): readonly string[] {
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
    return [(images ? imageBlock(url) : undefined) ?? textBlock(imageNote(url))]
  })
}

function imageBlock(url: string): string | undefined {
  const image = inlineImage(url)
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

function callBlock(call: ToolCall, form: HistoryForm): string {
  const { name } = call.function
  const parsed = parseJson(call.function.arguments)
  const input = canonicalJson(isRecord(parsed) ? parsed : {})
  if (form === "text") return textBlock(`[called ${name} with ${input}]`)
  return `{"toolUse":{"toolUseId":${JSON.stringify(toolUseId(call.id))},"name":${JSON.stringify(name)},"input":${input}}}`
}

function resultBlock(message: ToolMessage, form: HistoryForm): string {
  const blocks = orFiller(partBlocks(message.content, { images: form === "claude" || form === "nova" }))
  if (form !== "text") {
    return `{"toolResult":{"toolUseId":${JSON.stringify(toolUseId(message.tool_call_id))},"content":[${blocks.join(",")}]}}`
  }
  return [textBlock(`[result of ${message.tool_name}]`), ...blocks].join(",")
}

/** AWS allows 64 characters of `A–Z a–z 0–9 _ -`; ids of other providers are made to fit, on both ends alike. */
function toolUseId(id: string): string {
  const legal = id.replaceAll(/[^A-Za-z0-9_-]/g, "_")
  if (legal === "") return "tool_0"
  return legal.length <= 64 ? legal : `${legal.slice(0, 51)}_${sha256Hex(id).slice(0, 12)}`
}

function orFiller(blocks: readonly string[]): readonly string[] {
  return blocks.length === 0 ? [FILLER] : blocks
}

function textBlock(text: string): string {
  return JSON.stringify({ text: scrubSurrogates(text) })
}
