import { crc32 } from "node:zlib"

import type { WireName } from "./wire.ts"

/** A reply as a client reads it. The decoders share no code with the encoders. */
export interface DecodedReply {
  readonly text: string
  readonly reasoning: string
  readonly signature: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  /** The finish reason as the vendor spells it. */
  readonly finish: string
  /** The usage in the vendor's format. */
  readonly usage: unknown
}

interface Draft {
  text: string
  reasoning: string
  signature: string
  calls: { id: string; name: string; arguments: string }[]
  finish: string
  usage: unknown
}

export interface WireCase {
  readonly wire: WireName
  path(stream: boolean): string
  body(stream: boolean): object
  decodeStream(bytes: Buffer): DecodedReply
  decodeComplete(body: unknown): DecodedReply
}

export const WIRE_CASES: readonly WireCase[] = [
  {
    wire: "chat-completions",
    path: () => "/v1/chat/completions",
    body: (stream) => ({
      model: "m",
      messages: [],
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    }),
    decodeStream: decodeChatStream,
    decodeComplete: decodeChat,
  },
  {
    wire: "responses",
    path: () => "/v1/responses",
    body: (stream) => ({ model: "m", input: [], stream, include: ["reasoning.encrypted_content"] }),
    decodeStream: decodeResponsesStream,
    decodeComplete: decodeResponses,
  },
  {
    wire: "anthropic-messages",
    path: () => "/v1/messages",
    body: (stream) => ({ model: "m", messages: [], max_tokens: 100, stream }),
    decodeStream: decodeAnthropicStream,
    decodeComplete: decodeAnthropic,
  },
  {
    wire: "bedrock-converse",
    path: (stream) => `/model/m/${stream ? "converse-stream" : "converse"}`,
    body: () => ({ messages: [] }),
    decodeStream: decodeBedrockStream,
    decodeComplete: decodeBedrock,
  },
  {
    wire: "gemini",
    path: (stream) => `/v1beta/models/m:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: () => ({ contents: [] }),
    decodeStream: decodeGeminiStream,
    decodeComplete: (body) => decodeGeminiChunks([body as GeminiChunk]),
  },
]

export interface ServerSentEvent {
  readonly event: string | undefined
  readonly data: string
}

export function readServerSentEvents(text: string): ServerSentEvent[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((block) => block !== "")
    .map((block) => {
      const lines = block.split(/\r?\n/)
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      return { event: field("event"), data: field("data") ?? "" }
    })
}

function emptyDraft(): Draft {
  return { text: "", reasoning: "", signature: "", calls: [], finish: "", usage: undefined }
}

interface ChatCall {
  index: number
  id?: string
  function: { name?: string; arguments: string }
}

interface ChatMessage {
  content?: string | null
  refusal?: string | null
  reasoning_content?: string
  tool_calls?: ChatCall[]
}

interface ChatChunk {
  choices: { delta: ChatMessage; finish_reason: string | null }[]
  usage?: unknown
}

interface ChatReply {
  choices: [{ message: ChatMessage; finish_reason: string }]
  usage?: unknown
}

function decodeChatStream(bytes: Buffer): DecodedReply {
  const draft = emptyDraft()
  const events = readServerSentEvents(bytes.toString())
  if (events.at(-1)?.data !== "[DONE]") throw new Error("the stream does not end with [DONE]")
  for (const { data } of events.slice(0, -1)) {
    const chunk = JSON.parse(data) as ChatChunk
    draft.usage = chunk.usage ?? draft.usage
    for (const { delta, finish_reason } of chunk.choices) {
      draft.finish = finish_reason ?? draft.finish
      draft.text += delta.content ?? delta.refusal ?? ""
      draft.reasoning += delta.reasoning_content ?? ""
      for (const part of delta.tool_calls ?? []) {
        const call = (draft.calls[part.index] ??= { id: "", name: "", arguments: "" })
        call.id = part.id ?? call.id
        call.name = part.function.name ?? call.name
        call.arguments += part.function.arguments
      }
    }
  }
  return draft
}

function decodeChat(body: unknown): DecodedReply {
  const { choices, usage } = body as ChatReply
  const { message, finish_reason: finish } = choices[0]
  const calls = (message.tool_calls ?? []).map((call) => ({
    id: call.id ?? "",
    name: call.function.name ?? "",
    arguments: call.function.arguments,
  }))
  const text = message.content ?? message.refusal ?? ""
  return { text, reasoning: message.reasoning_content ?? "", signature: "", calls, finish, usage }
}

type ResponsesItem =
  | { type: "reasoning"; summary: { text: string }[]; encrypted_content?: string }
  | { type: "message"; content: { text?: string; refusal?: string }[] }
  | { type: "function_call"; call_id: string; name: string; arguments: string }

interface ResponsesReply {
  status: string
  incomplete_details: { reason: string } | null
  output: ResponsesItem[]
  usage: unknown
}

interface ResponsesEvent {
  type: string
  sequence_number: number
  delta: string
  item: ResponsesItem
  response: ResponsesReply
}

function decodeResponsesStream(bytes: Buffer): DecodedReply {
  const draft = emptyDraft()
  const deltas = { text: "", reasoning: "" }
  let isComplete = false
  for (const [index, { event, data }] of readServerSentEvents(bytes.toString()).entries()) {
    const json = JSON.parse(data) as ResponsesEvent
    if (json.type !== event || json.sequence_number !== index) throw new Error(`event ${index} is out of order`)
    if (event === "response.output_text.delta" || event === "response.refusal.delta") deltas.text += json.delta
    if (event === "response.reasoning_summary_text.delta") deltas.reasoning += json.delta
    if (event === "response.output_item.done") addResponsesItem(draft, json.item)
    isComplete = event === "response.completed" || event === "response.incomplete"
    if (isComplete) {
      draft.finish = responsesFinish(json.response)
      draft.usage = json.response.usage
    }
  }
  if (!isComplete) throw new Error("the stream does not end with response.completed")
  if (deltas.text !== draft.text || deltas.reasoning !== draft.reasoning) throw new Error("deltas and items differ")
  return draft
}

function decodeResponses(body: unknown): DecodedReply {
  const draft = emptyDraft()
  const response = body as ResponsesReply
  for (const item of response.output) addResponsesItem(draft, item)
  return { ...draft, finish: responsesFinish(response), usage: response.usage }
}

function responsesFinish({ status, incomplete_details: details }: ResponsesReply): string {
  return details === null ? status : `${status}:${details.reason}`
}

function addResponsesItem(draft: Draft, item: ResponsesItem): void {
  switch (item.type) {
    case "reasoning":
      draft.reasoning += item.summary.map((part) => part.text).join("")
      draft.signature += item.encrypted_content ?? ""
      break
    case "message":
      draft.text += item.content.map((part) => part.text ?? part.refusal ?? "").join("")
      break
    case "function_call":
      draft.calls.push({ id: item.call_id, name: item.name, arguments: item.arguments })
      break
    default:
      throw new Error(`unknown item ${JSON.stringify(item)}`)
  }
}

type AnthropicBlock = { type: string; text?: string; thinking?: string; signature?: string } & {
  id: string
  name: string
  input: unknown
}

interface AnthropicEvent {
  type: string
  content_block: AnthropicBlock
  delta: {
    type: string
    text?: string
    thinking?: string
    signature?: string
    partial_json: string
    stop_reason: string
  }
  usage: unknown
}

function decodeAnthropicStream(bytes: Buffer): DecodedReply {
  const draft = emptyDraft()
  let isComplete = false
  for (const { event, data } of readServerSentEvents(bytes.toString())) {
    const json = JSON.parse(data) as AnthropicEvent
    if (json.type !== event) throw new Error(`the event ${event} carries ${json.type}`)
    if (event === "content_block_start" && json.content_block.type === "tool_use") {
      draft.calls.push({ id: json.content_block.id, name: json.content_block.name, arguments: "" })
    }
    if (event === "content_block_delta") {
      draft.text += json.delta.text ?? ""
      draft.reasoning += json.delta.thinking ?? ""
      draft.signature += json.delta.signature ?? ""
      if (json.delta.type === "input_json_delta") draft.calls.at(-1)!.arguments += json.delta.partial_json
    }
    if (event === "message_delta") {
      draft.finish = json.delta.stop_reason
      draft.usage = json.usage
    }
    isComplete = event === "message_stop"
  }
  if (!isComplete) throw new Error("the stream does not end with message_stop")
  return draft
}

function decodeAnthropic(body: unknown): DecodedReply {
  const draft = emptyDraft()
  const message = body as { content: AnthropicBlock[]; stop_reason: string; usage: unknown }
  for (const block of message.content) {
    draft.text += block.text ?? ""
    draft.reasoning += block.thinking ?? ""
    draft.signature += block.signature ?? ""
    if (block.type === "tool_use") {
      draft.calls.push({ id: block.id, name: block.name, arguments: JSON.stringify(block.input) })
    }
  }
  return { ...draft, finish: message.stop_reason, usage: message.usage }
}

export interface EventStreamMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly payload: string
}

/** Throws when a checksum is wrong. */
export function readEventStream(bytes: Buffer): EventStreamMessage[] {
  const messages: EventStreamMessage[] = []
  for (let start = 0; start < bytes.length;) {
    const total = bytes.readUInt32BE(start)
    const message = bytes.subarray(start, start + total)
    if (message.readUInt32BE(8) !== crc32(message.subarray(0, 8))) throw new Error("the prelude checksum is wrong")
    if (message.readUInt32BE(total - 4) !== crc32(message.subarray(0, total - 4))) {
      throw new Error("the message checksum is wrong")
    }
    const headersEnd = 12 + message.readUInt32BE(4)
    messages.push({
      headers: readHeaders(message.subarray(12, headersEnd)),
      payload: message.toString("utf8", headersEnd, total - 4),
    })
    start += total
  }
  return messages
}

function readHeaders(bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let offset = 0; offset < bytes.length;) {
    const nameEnd = offset + 1 + bytes.readUInt8(offset)
    const valueStart = nameEnd + 3
    const valueEnd = valueStart + bytes.readUInt16BE(nameEnd + 1)
    headers[bytes.toString("utf8", offset + 1, nameEnd)] = bytes.toString("utf8", valueStart, valueEnd)
    offset = valueEnd
  }
  return headers
}

interface BedrockToolUse {
  toolUseId: string
  name: string
  input: unknown
}

interface BedrockEvent {
  start: { toolUse: BedrockToolUse }
  delta: { text?: string; reasoningContent?: { text?: string; signature?: string }; toolUse?: { input: string } }
  stopReason: string
  usage: unknown
}

interface BedrockReply {
  output: { message: { content: BedrockBlock[] } }
  stopReason: string
  usage: unknown
}

interface BedrockBlock {
  text?: string
  reasoningContent?: { reasoningText?: { text: string; signature: string } }
  toolUse?: BedrockToolUse
}

function decodeBedrockStream(bytes: Buffer): DecodedReply {
  const draft = emptyDraft()
  for (const { headers, payload } of readEventStream(bytes)) {
    const json = JSON.parse(payload) as BedrockEvent
    const event = headers[":event-type"]
    if (event === "contentBlockStart") {
      const { toolUseId: id, name } = json.start.toolUse
      draft.calls.push({ id, name, arguments: "" })
    }
    if (event === "contentBlockDelta") {
      draft.text += json.delta.text ?? ""
      draft.reasoning += json.delta.reasoningContent?.text ?? ""
      draft.signature += json.delta.reasoningContent?.signature ?? ""
      if (json.delta.toolUse !== undefined) draft.calls.at(-1)!.arguments += json.delta.toolUse.input
    }
    if (event === "messageStop") draft.finish = json.stopReason
    if (event === "metadata") draft.usage = json.usage
  }
  return draft
}

function decodeBedrock(body: unknown): DecodedReply {
  const draft = emptyDraft()
  const { output, stopReason: finish, usage } = body as BedrockReply
  for (const { text, reasoningContent, toolUse } of output.message.content) {
    draft.text += text ?? ""
    draft.reasoning += reasoningContent?.reasoningText?.text ?? ""
    draft.signature += reasoningContent?.reasoningText?.signature ?? ""
    if (toolUse !== undefined) {
      draft.calls.push({ id: toolUse.toolUseId, name: toolUse.name, arguments: JSON.stringify(toolUse.input) })
    }
  }
  return { ...draft, finish, usage }
}

interface GeminiChunk {
  candidates: [{ content: { parts: GeminiPart[] }; finishReason?: string }]
  usageMetadata: unknown
}

interface GeminiPart {
  text?: string
  thought?: boolean
  thoughtSignature?: string
  functionCall?: { id?: string; name: string; args: unknown }
}

function decodeGeminiStream(bytes: Buffer): DecodedReply {
  return decodeGeminiChunks(readServerSentEvents(bytes.toString()).map(({ data }) => JSON.parse(data) as GeminiChunk))
}

function decodeGeminiChunks(chunks: readonly GeminiChunk[]): DecodedReply {
  const draft = emptyDraft()
  for (const { candidates, usageMetadata } of chunks) {
    draft.usage = usageMetadata
    draft.finish = candidates[0].finishReason ?? draft.finish
    for (const { text = "", thought, thoughtSignature, functionCall } of candidates[0].content.parts) {
      if (thought === true) draft.reasoning += text
      else draft.text += text
      draft.signature += thoughtSignature ?? ""
      if (functionCall !== undefined) {
        const { id = "", name, args } = functionCall
        draft.calls.push({ id, name, arguments: JSON.stringify(args) })
      }
    }
  }
  return draft
}
