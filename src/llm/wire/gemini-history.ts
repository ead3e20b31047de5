import { assertNever } from "../../base/assert-never.ts"
import { canonicalJson, isRecord, parseJson, stringField } from "../../base/json.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { AssistantMessage, Message, Part, ToolCall, ToolMessage, UserMessage } from "../../protocol/message.ts"
import { imageNote, inlineImage } from "./inline-image.ts"

/** `sealed`: the model demands a seal on the first call of a reply, also where another model made the call. */
export type ContentsForm = "sealed" | "plain"

/**
 * The conversation as Gemini wants it: roles user and model, the results of one reply's calls together in one content, each under
 * the name of its call. The bytes of a message are made once.
 */
export function createContentsEncoder(): (messages: readonly Message[], form: ContentsForm) => string {
  const encoded: Record<ContentsForm, WeakMap<Message, string>> = { sealed: new WeakMap(), plain: new WeakMap() }
  const encodeOnce = (message: Conversational, form: ContentsForm): string => {
    const known = encoded[form].get(message)
    if (known !== undefined) return known
    const bytes = message.role === "tool" ? afterName(message) : partsOf(message, form).join(",")
    encoded[form].set(message, bytes)
    return bytes
  }
  return (messages, form) => {
    const names = new Map<string, string>()
    const contents: { readonly speaker: Conversational["role"]; readonly parts: string[] }[] = []
    for (const message of messages) {
      if (message.role === "system") continue
      for (const call of callsOf(message)) names.set(call.id, call.function.name)
      // A reply of the model must have something to reply to.
      if (contents.length === 0 && message.role === "assistant") contents.push({ speaker: "user", parts: [FILLER] })
      const bytes = encodeOnce(message, form)
      const parts = message.role === "tool" ? namedResult(message, names) + bytes : bytes
      const last = contents.at(-1)
      if (last?.speaker === message.role) last.parts.push(parts)
      else contents.push({ speaker: message.role, parts: [parts] })
    }
    const turns = contents.map(
      ({ speaker, parts }) => `{"role":"${speaker === "assistant" ? "model" : "user"}","parts":[${parts.join(",")}]}`,
    )
    return `[${turns.join(",")}]`
  }
}

const FILLER = textPart(" ")

/** The word Google documents for calls that another model made: it is taken instead of a seal. */
const FOREIGN_CALL_SEAL = "skip_thought_signature_validator"

type Conversational = UserMessage | AssistantMessage | ToolMessage

function partsOf(message: UserMessage | AssistantMessage, form: ContentsForm): readonly string[] {
  switch (message.role) {
    case "user":
      return orFiller([
        ...contentParts(message.content),
        ...(message.injected === undefined ? [] : [textPart(message.injected)]),
      ])
    case "assistant":
      return orFiller([...contentParts(message.content ?? ""), ...callParts(callsOf(message), form)])
    default:
      return assertNever(message)
  }
}

function callsOf(message: Conversational): readonly ToolCall[] {
  return message.role === "assistant" ? (message.tool_calls ?? []) : []
}

function contentParts(content: string | readonly Part[]): readonly string[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content
  return parts.flatMap((part) => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [textPart(part.text)]
    return [imagePart(part.image_url.url)]
  })
}

/** Links are not followed by the server; a picture travels inside or is only named. */
function imagePart(url: string): string {
  const image = inlineImage(url)
  return image === undefined
    ? textPart(imageNote(url))
    : JSON.stringify({ inlineData: { mimeType: image.mimeType, data: image.base64 } })
}

function callParts(calls: readonly ToolCall[], form: ContentsForm): readonly string[] {
  const seals = calls.map(sealOf)
  const foreign = form === "sealed" && seals.every((seal) => seal === undefined)
  return calls.map((call, position) => {
    const parsed = parseJson(call.function.arguments)
    const args = canonicalJson(isRecord(parsed) ? parsed : {})
    const seal = foreign && position === 0 ? FOREIGN_CALL_SEAL : seals[position]
    const sealed = seal === undefined ? "" : `,"thoughtSignature":${JSON.stringify(seal)}`
    return `{"functionCall":{"name":${JSON.stringify(call.function.name)},"args":${args}}${sealed}}`
  })
}

function sealOf(call: ToolCall): string | undefined {
  return isRecord(call.extra_content) ? stringField(call.extra_content["google"], "thought_signature") : undefined
}

/** A result begins with the name of its call, which stands in another message; the rest of its bytes is its own. */
function namedResult(message: ToolMessage, names: ReadonlyMap<string, string>): string {
  return `{"functionResponse":{"name":${JSON.stringify(names.get(message.tool_call_id) ?? message.tool_name)}`
}

function afterName(message: ToolMessage): string {
  const { content } = message
  const pictures = typeof content === "string" ? [] : content.filter((part) => part.type === "image_url")
  const response = `,"response":${JSON.stringify(responseOf(content))}}}`
  return [response, ...pictures.map((part) => imagePart(part.image_url.url))].join(",")
}

/** The response is an object on this wire: the tool's own where it gave one, else its text under a name. */
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
