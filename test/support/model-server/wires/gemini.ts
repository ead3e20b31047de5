import { assertNever } from "../../../../src/base/assert-never.ts"
import { isRecord, stringField } from "../../../../src/base/json.ts"
import type { FinishReason } from "../../../../src/protocol/message.ts"
import type { Usage } from "../../../../src/protocol/usage.ts"
import { promptTokens } from "../../../../src/protocol/usage.ts"
import type { MessageView, RequestView } from "../recorded-request.ts"
import { partsText, recordsIn } from "../request-parts.ts"
import type { ResolvedReply, ResolvedBlock, Frame, PathMatch, Wire } from "../wire.ts"
import { corruptServerSentEvent, inputValue } from "../wire.ts"

/** The native Google Gemini API. */
export const gemini: Wire = {
  name: "gemini",
  match: (path) => {
    const found = /\/models\/([^/?]+):(generateContent|streamGenerateContent)(\?.*)?$/.exec(path)
    if (found === null) return undefined
    return {
      model: decodeURIComponent(found[1] ?? ""),
      stream: found[2] === "streamGenerateContent",
      jsonArray: new URLSearchParams(found[3] ?? "").get("alt") !== "sse",
    }
  },
  streamType: (match) => (match.jsonArray === true ? "application/json; charset=UTF-8" : "text/event-stream"),
  requestIdHeader: "x-goog-request-id",
  wantsStream: (_body, match) => match.stream === true,
  stream,
  complete,
  failure: (status, message) => ({ body: errorBody(status, message), headers: {} }),
  corrupt: corruptServerSentEvent,
  view,
}

function stream(reply: ResolvedReply): readonly Frame[] {
  const chunks = reply.blocks.flatMap((block) => blockParts(block).map((part) => chunk(reply, part)))
  if (reply.streamError === null) chunks.push({ json: JSON.stringify(lastChunk(reply)), delta: false })
  else chunks.push({ json: JSON.stringify(streamErrorBody(reply.streamError)), delta: false })
  if (reply.match.jsonArray === true) {
    const frames = chunks.map(({ json, delta }, index) => ({ bytes: `${index === 0 ? "[" : ",\r\n"}${json}`, delta }))
    return [...frames, { bytes: "]", delta: false }]
  }
  return chunks.map(({ json, delta }) => ({ bytes: `data: ${json}\r\n\r\n`, delta }))
}

function chunk(reply: ResolvedReply, part: object): { readonly json: string; readonly delta: boolean } {
  const usage = reply.usage === null ? {} : { usageMetadata: promptUsage(reply.usage) }
  const json = { candidates: [{ content: { parts: [part], role: "model" }, index: 0 }], ...usage, ...identity(reply) }
  return { json: JSON.stringify(json), delta: true }
}

function lastChunk(reply: ResolvedReply): object {
  return {
    candidates: [
      { content: { parts: [{ text: "" }], role: "model" }, finishReason: finishReason(reply.finish), index: 0 },
    ],
    ...(reply.usage === null ? {} : { usageMetadata: usageBody(reply.usage) }),
    ...identity(reply),
  }
}

function complete(reply: ResolvedReply): unknown {
  const parts = reply.blocks.flatMap((block) => wholeParts(block))
  return {
    candidates: [{ content: { parts, role: "model" }, finishReason: finishReason(reply.finish), index: 0 }],
    ...(reply.usage === null ? {} : { usageMetadata: usageBody(reply.usage) }),
    ...identity(reply),
  }
}

/** Gemini sends a call in one piece and has no redacted reasoning. */
function blockParts(block: ResolvedBlock): object[] {
  switch (block.kind) {
    case "reasoning":
      return block.deltas.map((text) => ({ text, thought: true }))
    case "redacted":
      return []
    case "text":
      return block.deltas.map((text) => ({ text }))
    case "refusal":
      return [{ text: block.text }]
    case "call": {
      const { call } = block
      const id = call.id === undefined ? {} : { id: call.id }
      const signature = call.signature === undefined ? {} : { thoughtSignature: call.signature }
      return [{ functionCall: { ...id, name: call.name, args: inputValue(call) }, ...signature }]
    }
    default:
      return assertNever(block)
  }
}

function wholeParts(block: ResolvedBlock): object[] {
  const hasDeltas = block.kind === "reasoning" || block.kind === "text"
  return blockParts(hasDeltas ? { ...block, deltas: [block.deltas.join("")] } : block)
}

function identity(reply: ResolvedReply): object {
  return { modelVersion: reply.model, responseId: `response-${reply.serial}` }
}

const FINISH_REASONS = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
  incomplete: "MAX_TOKENS",
} as const satisfies Record<FinishReason, string>

function finishReason(finish: FinishReason): string {
  return FINISH_REASONS[finish]
}

function promptUsage(usage: Usage): object {
  const prompt = promptTokens(usage)
  return { promptTokenCount: prompt, totalTokenCount: prompt }
}

/** Gemini counts thoughts separately from the candidates, and cache writes as prompt tokens. */
function usageBody(usage: Usage): object {
  const prompt = promptTokens(usage)
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: usage.output - usage.reasoning,
    totalTokenCount: prompt + usage.output,
    ...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
    ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
  }
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
}

function errorBody(code: number, message: string): object {
  return { error: { code, message, status: STATUS_NAMES[code] ?? "UNKNOWN" } }
}

/** In a stream the type is the status name: UNAVAILABLE, RESOURCE_EXHAUSTED, … */
function streamErrorBody({ type, message }: { readonly type: string; readonly message: string }): object {
  const code = Object.entries(STATUS_NAMES).find(([, name]) => name === type)?.[0]
  return { error: { code: Number(code ?? 500), message, status: type } }
}

function view(body: unknown, match: PathMatch): RequestView {
  const system = isRecord(body) ? body["systemInstruction"] : undefined
  return {
    model: match.model ?? "",
    system: isRecord(system) ? partsText(system["parts"]) : "",
    tools: recordsIn(body, "tools").flatMap((tool) =>
      recordsIn(tool, "functionDeclarations").map((declaration) => stringField(declaration, "name") ?? ""),
    ),
    messages: recordsIn(body, "contents").map(contentView),
  }
}

function contentView(content: Record<string, unknown>): MessageView {
  const parts = recordsIn(content, "parts")
  return {
    role: content["role"] === "model" ? "assistant" : "user",
    text: partsText(parts.filter((part) => part["thought"] !== true)),
    calls: parts.flatMap(({ functionCall }) => {
      if (!isRecord(functionCall)) return []
      const name = stringField(functionCall, "name") ?? ""
      return [{ id: stringField(functionCall, "id") ?? name, name, input: functionCall["args"] }]
    }),
    results: parts.flatMap(({ functionResponse }) => {
      if (!isRecord(functionResponse)) return []
      const id = stringField(functionResponse, "id") ?? stringField(functionResponse, "name") ?? ""
      return [{ id, text: responseText(functionResponse["response"]) }]
    }),
  }
}

function responseText(response: unknown): string {
  return stringField(response, "output") ?? JSON.stringify(response)
}
