import { isRecord, parseJson, stringField } from "../../../base/json.ts"
import type { FinishReason, ToolCall } from "../../../protocol/message.ts"
import type { Usage } from "../../../protocol/usage.ts"
import type { ModelEvent, ModelReply } from "../../model.ts"
import type { Frame } from "../../http/sse.ts"
import { tokenCount } from "../token-count.ts"
import type { DecodeResult } from "../wire.ts"

export interface GeminiState {
  readonly content: string
  readonly reasoning: string
  readonly calls: readonly ToolCall[]
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  readonly frames: number
  readonly error: string | undefined
}

export const INITIAL_STATE: GeminiState = {
  content: "",
  reasoning: "",
  calls: [],
  finish: undefined,
  usage: undefined,
  frames: 0,
  error: undefined,
}

type Step = readonly [GeminiState, readonly ModelEvent[]]

export function decodeGemini(state: GeminiState, frame: Frame): Step | undefined {
  // Emit nothing after an error, so that the request can be repeated.
  if (state.error !== undefined) return [state, []]
  if (frame.data.trim() === "") return [state, []]
  const chunk = parseJson(frame.data)
  return isRecord(chunk) ? applyChunk(state, chunk) : undefined
}

function applyChunk(state: GeminiState, chunk: Readonly<Record<string, unknown>>): Step {
  if (isRecord(chunk["error"])) return [{ ...state, error: state.error ?? JSON.stringify(chunk) }, []]
  const candidates = chunk["candidates"]
  const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined
  const content = isRecord(candidate) ? candidate["content"] : undefined
  const parts = isRecord(content) && Array.isArray(content["parts"]) ? content["parts"].filter(isRecord) : []
  const events: ModelEvent[] = []
  let next: GeminiState = { ...state, frames: state.frames + 1 }
  for (const part of parts) next = applyPart(next, part, events)
  // A blocked prompt has no candidates.
  const blocked = stringField(chunk["promptFeedback"], "blockReason") === undefined ? undefined : "SAFETY"
  return [
    {
      ...next,
      finish: stringField(candidate, "finishReason") ?? blocked ?? state.finish,
      usage: readUsage(chunk["usageMetadata"]) ?? state.usage,
    },
    events,
  ]
}

function applyPart(state: GeminiState, part: Readonly<Record<string, unknown>>, events: ModelEvent[]): GeminiState {
  if (isRecord(part["functionCall"])) {
    const call = readCall(part, part["functionCall"])
    if (call === undefined) return state
    events.push({ type: "tool-generating", tool: call.function.name })
    return { ...state, calls: [...state.calls, call] }
  }
  const text = stringField(part, "text") ?? ""
  if (text === "") return state
  if (part["thought"] === true) {
    events.push({ type: "reasoning-delta", text })
    return { ...state, reasoning: state.reasoning + text }
  }
  // Text after a tool call belongs to the message but is not displayed as the answer.
  if (state.calls.length === 0) events.push({ type: "text-delta", text })
  return { ...state, content: state.content + text }
}

/** Gemini never splits a call. Its thought signature must be sent back with the same call. */
function readCall(
  part: Readonly<Record<string, unknown>>,
  called: Readonly<Record<string, unknown>>,
): ToolCall | undefined {
  const name = stringField(called, "name") ?? ""
  if (name === "") return undefined
  const args = JSON.stringify(isRecord(called["args"]) ? called["args"] : {})
  const signature = stringField(part, "thoughtSignature") ?? ""
  return {
    id: stringField(called, "id") ?? "",
    type: "function",
    function: { name, arguments: args },
    ...(signature === "" ? {} : { extra_content: { google: { thought_signature: signature } } }),
  }
}

/** Every complete stream contains a finish reason, so one without it was cut off, however the connection ended. */
export function finishGemini(state: GeminiState): DecodeResult {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "unusable", received: "an empty stream" }
  const isComplete = state.finish !== undefined || state.calls.length > 0
  if (isComplete) return { kind: "reply", reply: replyOf(state, "complete") }
  return state.content === ""
    ? { kind: "unusable", received: "a stream that was cut off" }
    : { kind: "reply", reply: replyOf(state, "cut-text") }
}

function replyOf(state: GeminiState, ending: ModelReply["ending"]): ModelReply {
  return {
    content: state.content === "" ? null : state.content,
    toolCalls: state.calls,
    finishReason: finishReason(state),
    reasoning: state.reasoning === "" ? null : state.reasoning,
    ...(state.usage === undefined ? {} : { usage: state.usage }),
    carriers: {},
    ending,
  }
}

const FILTERED: ReadonlySet<string> = new Set(["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"])

function finishReason(state: GeminiState): FinishReason {
  if (state.finish === "MAX_TOKENS") return "length"
  if (FILTERED.has(state.finish ?? "")) return "content_filter"
  return state.calls.length > 0 ? "tool_calls" : "stop"
}

/** Decodes one response, or the list of all chunks that servers without `alt=sse` support send. */
export function decodeCompleteGemini(body: string): DecodeResult {
  const parsed = parseJson(body)
  if (parsed === undefined) return { kind: "unusable", received: "something that is not JSON", notModelServer: true }
  const chunks: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed]
  const known = chunks.filter(isRecord).filter((chunk) => KNOWN_FIELDS.some((field) => field in chunk))
  if (known.length === 0) return { kind: "unusable", received: "JSON without candidates" }
  return finishGemini(known.reduce<GeminiState>((state, chunk) => applyChunk(state, chunk)[0], INITIAL_STATE))
}

const KNOWN_FIELDS = ["candidates", "promptFeedback", "error"] as const

/** Gemini includes cached tokens in the prompt and counts thoughts apart from the output; `Usage` does the opposite. */
function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const cacheRead = tokenCount(value["cachedContentTokenCount"])
  const reasoning = tokenCount(value["thoughtsTokenCount"])
  const prompt = tokenCount(value["promptTokenCount"]) + tokenCount(value["toolUsePromptTokenCount"])
  return {
    input: Math.max(0, prompt - cacheRead),
    output: tokenCount(value["candidatesTokenCount"]) + reasoning,
    cacheRead,
    cacheWrite: 0,
    reasoning,
  }
}
