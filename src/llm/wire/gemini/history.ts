import { assertNever } from "../../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson, stringField } from "../../../base/json.ts"
import { scrubSurrogates } from "../../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage, UserMessage } from "../../../protocol/message.ts"
import { encodeRecent } from "../encode-recent.ts"
import { omittedImageNote, parseImageDataUrl } from "../image-data-url.ts"
import type { HistoryEncoding } from "../wire.ts"

/**
 * `signed`: the model requires a thought signature on the first call of a reply, even if another model made the call.
 */
export type ContentsFormat = "signed" | "plain"

/**
 * Encodes the conversation as Gemini requires it: roles `user` and `model`, and all results of one reply's calls in one
 * content, each with the name of its call.
 */
export function createContentsEncoder(): (messages: readonly Message[], format: ContentsFormat) => HistoryEncoding {
  const encoderFor = (format: ContentsFormat) =>
    encodeRecent((message: ConversationMessage) =>
      message.role === "tool" ? resultAfterName(message) : partsOf(message, format).join(","),
    )
  const encoders = { signed: encoderFor("signed"), plain: encoderFor("plain") }
  return (messages, format) => ({
    messages,
    format,
    settled: messages.length,
    encode: (from, to) => {
      const names = new Map<string, string>()
      const contents: { readonly role: ConversationMessage["role"]; readonly parts: string[] }[] = []
      for (const message of messages.slice(from, to)) {
        if (message.role === "system") continue
        for (const call of callsOf(message)) names.set(call.id, call.function.name)
        // The conversation must begin with the user.
        if (from === 0 && contents.length === 0 && message.role === "assistant")
          contents.push({ role: "user", parts: [FILLER] })
        const bytes = encoders[format](message)
        const parts = message.role === "tool" ? resultUpToName(message, names) + bytes : bytes
        const last = contents.at(-1)
        if (last?.role === message.role) last.parts.push(parts)
        else contents.push({ role: message.role, parts: [parts] })
      }
      return contents
        .map(({ role, parts }) => `{"role":"${role === "assistant" ? "model" : "user"}","parts":[${parts.join(",")}]}`)
        .join(",")
    },
  })
}

const FILLER = textPart(" ")

/** Google documents this value as the signature of calls that another model made. */
const SKIP_SIGNATURE = "skip_thought_signature_validator"

type ConversationMessage = UserMessage | AssistantMessage | ToolMessage

function partsOf(message: UserMessage | AssistantMessage, format: ContentsFormat): readonly string[] {
  switch (message.role) {
    case "user":
      return orFiller([
        ...contentParts(message.content),
        ...(message.injected === undefined ? [] : [textPart(message.injected)]),
      ])
    case "assistant":
      return orFiller([...contentParts(message.content ?? ""), ...callParts(callsOf(message), format)])
    default:
      return assertNever(message)
  }
}

function callsOf(message: ConversationMessage): readonly ToolCall[] {
  return message.role === "assistant" ? (message.tool_calls ?? []) : []
}

function contentParts(content: string | readonly Part[]): readonly string[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content
  return parts.flatMap((part) => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [textPart(part.text)]
    return [imagePart(part.image_url.url)]
  })
}

/** The server does not fetch URLs, so an image is sent inline or only mentioned. */
function imagePart(url: string): string {
  const image = parseImageDataUrl(url)
  return image === undefined
    ? textPart(omittedImageNote(url))
    : JSON.stringify({ inlineData: { mimeType: image.mimeType, data: image.base64 } })
}

function callParts(calls: readonly ToolCall[], format: ContentsFormat): readonly string[] {
  const signatures = calls.map(signatureOf)
  const isUnsigned = format === "signed" && signatures.every((signature) => signature === undefined)
  return calls.map((call, index) => {
    const parsed = parseJson(call.function.arguments)
    const args = canonicalJson(isRecord(parsed) ? parsed : {})
    const signature = isUnsigned && index === 0 ? SKIP_SIGNATURE : signatures[index]
    const signatureField = signature === undefined ? "" : `,"thoughtSignature":${JSON.stringify(signature)}`
    return `{"functionCall":{"name":${JSON.stringify(call.function.name)},"args":${args}}${signatureField}}`
  })
}

function signatureOf(call: ToolCall): string | undefined {
  return isRecord(call.extra_content) ? stringField(call.extra_content["google"], "thought_signature") : undefined
}

/** The start of a result: the name of its call comes from another message, so this part is not cached. */
function resultUpToName(message: ToolMessage, names: ReadonlyMap<string, string>): string {
  return `{"functionResponse":{"name":${JSON.stringify(names.get(message.tool_call_id) ?? message.tool_name)}`
}

function resultAfterName(message: ToolMessage): string {
  const { content } = message
  const images = typeof content === "string" ? [] : content.filter((part) => part.type === "image_url")
  const response = `,"response":${JSON.stringify(responseOf(content))}}}`
  return [response, ...images.map((part) => imagePart(part.image_url.url))].join(",")
}

/** The response must be an object: the tool's JSON object, else its text as `output`. */
function responseOf(content: string | readonly Part[]): Record<string, unknown> {
  const text =
    typeof content === "string"
      ? content
      : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
  const parsed = parseJson(scrubSurrogates(text))
  return isRecord(parsed) ? parsed : { output: scrubSurrogates(text) }
}

function orFiller(parts: readonly string[]): readonly string[] {
  return parts.length === 0 ? [FILLER] : parts
}

function textPart(text: string): string {
  return JSON.stringify({ text: scrubSurrogates(text) })
}
