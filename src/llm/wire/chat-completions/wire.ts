import { isRecord, parseJson } from "../../../base/json.ts"
import { oncePerObject } from "../../../base/once-per-object.ts"
import { scrubSurrogates } from "../../../base/text.ts"
import type { FinishReason, ToolCall } from "../../../protocol/message.ts"
import type { ToolDefinition } from "../../../protocol/tool.ts"
import type { Usage } from "../../../protocol/usage.ts"
import { modelTail } from "../../detect-wire.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "../../model.ts"
import { moonshotSchema } from "./moonshot-schema.ts"
import type { Frame } from "../../http/sse.ts"
import { cacheMarker, withCacheMarker } from "./cache-markers.ts"
import { createHistoryEncoder } from "./history.ts"
import { messageFormat } from "./messages.ts"
import {
  isCopilot,
  isMistral,
  isMoonshot,
  isMoonshotModel,
  isOpenAi,
  isQwenPortal,
  acceptsCacheMarkers,
  acceptsToolImages,
  requiresReasoningEcho,
} from "./endpoint-traits.ts"
import { chatExtras, chatTemperature } from "./provider-extras.ts"
import type { OpenRouterSettings } from "./provider-extras.ts"
import { tokenCount } from "../token-count.ts"
import type { DecodeResult, Wire, WireEndpoint } from "../wire.ts"

export interface ChatCompletionsOptions {
  /** False for servers that reject `stream_options`. */
  readonly includeUsage?: boolean
  /** False for servers that reject `stream`. */
  readonly streaming?: boolean
  /** Body fields from the settings; they override the computed ones. */
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** The provider's output limit, for requests without one. */
  readonly maxTokensDefault?: number
  readonly openRouter?: OpenRouterSettings
}

/** The Chat Completions API as OpenAI documents it, tolerant of the deviations of compatible servers. */
export function createChatCompletionsWire(endpoint: WireEndpoint, options: ChatCompletionsOptions): Wire<ChatState> {
  const encodeHistory = createHistoryEncoder()
  const encodeTools = createToolEncoders()

  return {
    framing: "sse",
    textOnlyToolResults: !acceptsToolImages(endpoint),
    echoesReasoning: (model) => requiresReasoningEcho(endpoint, model),
    path: () => "/chat/completions",
    headers: (request) => chatExtras(request, endpoint, options).headers,
    encode: (request) => {
      const head = JSON.stringify(parameters(request, endpoint, options)).slice(0, -1)
      const dialect = isMoonshot(endpoint) || isMoonshotModel(request.model) ? "moonshot" : "common"
      const tools = request.tools.length === 0 ? "" : `,"tools":${encodeTools[dialect](request.tools)}`
      const format = messageFormat(endpoint, request.model)
      const marker =
        request.cacheTtl !== undefined && acceptsCacheMarkers(endpoint, request.model) ? request.cacheTtl : undefined
      const preface = systemMessage(request, endpoint, marker)
      return {
        head: `${head}${tools},"messages":[`,
        preface,
        history: encodeHistory(request.messages, {
          format,
          answersResults: isMistral(endpoint),
          ...(marker === undefined ? {} : { markers: { ttl: marker, system: preface !== "" } }),
        }),
      }
    },
    start: () => INITIAL_STATE,
    decode,
    finish: (state) => finish(state, { complete: false }),
    decodeComplete,
  }
}

/** The body without tools and messages; identical in all requests of a session. */
function parameters(
  request: ModelRequest,
  endpoint: WireEndpoint,
  options: ChatCompletionsOptions,
): Readonly<Record<string, unknown>> {
  const { includeUsage = true, streaming = true } = options
  const extras = chatExtras(request, endpoint, options)
  const temperature = chatTemperature(request, endpoint)
  const cap = request.maxOutputTokens ?? defaultCap(options.maxTokensDefault, endpoint) ?? extras.maxTokens
  const choice = request.toolChoice ?? "auto"
  const { messages: _messages, tools: _tools, ...overrides } = options.extraBody ?? {}
  return {
    model: request.model,
    stream: streaming,
    // Mistral reports usage in every stream and rejects the field.
    ...(streaming && includeUsage && !isMistral(endpoint) ? { stream_options: { include_usage: true } } : {}),
    ...(cap === undefined ? {} : { [capKey(request, endpoint)]: cap }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(choice === "auto" || request.tools.length === 0 ? {} : { tool_choice: choice }),
    ...extras.body,
    ...overrides,
  }
}

/** A default limit as large as the context window would leave no room for the prompt. */
function defaultCap(cap: number | undefined, { contextLength }: WireEndpoint): number | undefined {
  return cap === undefined || cap < contextLength ? cap : Math.max(1, Math.floor(contextLength / 2))
}

function capKey(request: ModelRequest, endpoint: WireEndpoint): "max_completion_tokens" | "max_tokens" {
  const usesNewName =
    isOpenAi(endpoint) || isCopilot(endpoint) || /^(gpt-4o|gpt-4\.1|gpt-5|o1|o3|o4)/.test(modelTail(request.model))
  return usesNewName ? "max_completion_tokens" : "max_tokens"
}

/** These model families expect the role `developer` for the system prompt. */
function systemMessage(request: ModelRequest, endpoint: WireEndpoint, ttl: "5m" | "1h" | undefined): string {
  if (request.system === "") return ""
  const role = /gpt-5|codex/i.test(request.model) ? "developer" : "system"
  const message = { role, content: scrubSurrogates(request.system) }
  const marked = ttl ?? (isQwenPortal(endpoint) ? "5m" : undefined)
  return JSON.stringify(marked === undefined ? message : withCacheMarker(message, cacheMarker(marked)))
}

type SchemaDialect = "common" | "moonshot"

function createToolEncoders(): Record<SchemaDialect, (tools: readonly ToolDefinition[]) => string> {
  const encoderFor = (dialect: SchemaDialect) =>
    oncePerObject((tools: readonly ToolDefinition[]) => JSON.stringify(tools.map((tool) => wireTool(tool, dialect))))
  return { common: encoderFor("common"), moonshot: encoderFor("moonshot") }
}

function wireTool({ name, description, parameters: schema }: ToolDefinition, dialect: SchemaDialect): unknown {
  const parameters = dialect === "moonshot" ? moonshotSchema(schema) : schema
  return { type: "function", function: { name, description, parameters } }
}

interface ChatState {
  readonly content: string
  readonly refusal: string
  readonly reasoning: string
  readonly reasoningContent: string
  readonly reasoningDetails: readonly Readonly<Record<string, unknown>>[]
  readonly calls: readonly PartialCall[]
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  readonly frames: number
  readonly done: boolean
  readonly error: string | undefined
}

interface PartialCall {
  readonly index: number
  readonly id: string
  readonly name: string
  readonly args: string
  readonly extra: unknown
}

const INITIAL_STATE: ChatState = {
  content: "",
  refusal: "",
  reasoning: "",
  reasoningContent: "",
  reasoningDetails: [],
  calls: [],
  finish: undefined,
  usage: undefined,
  frames: 0,
  done: false,
  error: undefined,
}

type Step = readonly [ChatState, readonly ModelEvent[]]

function decode(state: ChatState, frame: Frame): Step | undefined {
  // Emit nothing after an error, so that the request can be repeated.
  if (state.error !== undefined) return [state, []]
  if (frame.data === "[DONE]") return [{ ...state, done: true }, []]
  if (frame.data.trim() === "") return [state, []]
  const chunk = parseJson(frame.data)
  if (!isRecord(chunk)) return undefined
  if (chunk["error"] !== undefined && chunk["error"] !== null) return [{ ...state, error: frame.data }, []]
  return applyChunk(state, chunk)
}

function applyChunk(state: ChatState, chunk: Readonly<Record<string, unknown>>): Step {
  const groq = isRecord(chunk["x_groq"]) ? chunk["x_groq"]["usage"] : undefined
  const usage = readUsage(chunk["usage"]) ?? readUsage(groq) ?? state.usage
  const choices = chunk["choices"]
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  const counted = { ...state, usage, frames: state.frames + 1 }
  if (!isRecord(choice)) return [counted, []]
  const delta = isRecord(choice["delta"]) ? choice["delta"] : isRecord(choice["message"]) ? choice["message"] : {}
  const [next, events] = applyDelta(counted, delta)
  const finish = text(choice["finish_reason"])
  return [finish === "" ? next : { ...next, finish }, events]
}

function applyDelta(state: ChatState, delta: Readonly<Record<string, unknown>>): Step {
  const events: ModelEvent[] = []
  const parts = contentParts(delta["content"])
  const content = parts.text
  const refusal = text(delta["refusal"])
  const reasoningContent = text(delta["reasoning_content"])
  const reasoning = text(delta["reasoning"]) || reasoningContent || parts.thinking
  const details = Array.isArray(delta["reasoning_details"]) ? delta["reasoning_details"].filter(isRecord) : []
  const thought = reasoning || details.map((block) => text(block["text"]) || text(block["summary"])).join("")
  const calls = Array.isArray(delta["tool_calls"])
    ? applyCallDeltas(state.calls, delta["tool_calls"], events)
    : state.calls
  if (thought !== "") events.unshift({ type: "reasoning-delta", text: thought })
  // Text after a tool call belongs to the message but is not displayed as the answer.
  if (content !== "" && state.calls.length === 0) events.push({ type: "text-delta", text: content })
  return [
    {
      ...state,
      content: state.content + content,
      refusal: state.refusal + refusal,
      reasoning: state.reasoning + thought,
      reasoningContent: state.reasoningContent + reasoningContent,
      reasoningDetails: details.length === 0 ? state.reasoningDetails : mergeDetails(state.reasoningDetails, details),
      calls,
    },
    events,
  ]
}

/** Mistral sends content as a list of parts: text, and reasoning as `thinking` with a list of its own. */
function contentParts(content: unknown): { readonly text: string; readonly thinking: string } {
  if (!Array.isArray(content)) return { text: text(content), thinking: "" }
  const parts = content.filter(isRecord)
  return {
    text: parts.map((part) => text(part["text"])).join(""),
    thinking: parts.map((part) => contentParts(part["thinking"]).text).join(""),
  }
}

/**
 * Collects tool calls by their `index`. The name is replaced, because servers repeat it; the arguments are appended.
 */
function applyCallDeltas(
  calls: readonly PartialCall[],
  deltas: readonly unknown[],
  events: ModelEvent[],
): readonly PartialCall[] {
  const next = [...calls]
  for (const delta of deltas) {
    if (!isRecord(delta)) continue
    const called = isRecord(delta["function"]) ? delta["function"] : {}
    const id = text(delta["id"])
    const name = text(called["name"])
    const args = argumentText(called["arguments"])
    const extra = delta["extra_content"]
    const index = typeof delta["index"] === "number" ? delta["index"] : undefined
    const position = index === undefined ? lastCallOrNone(next, id) : next.findLastIndex((call) => call.index === index)
    const known = position === -1 ? undefined : next[position]
    const isAnother = known !== undefined && startsAnotherCall(known, { id, name, args })
    if (known === undefined || isAnother) {
      next.push({ index: index ?? next.length, id, name, args, extra })
    } else {
      next[position] = {
        ...known,
        id: known.id || id,
        name: name || known.name,
        args: known.args + args,
        extra: extra ?? known.extra,
      }
    }
    if (name !== "" && (known === undefined || isAnother || known.name === ""))
      events.push({ type: "tool-generating", tool: name })
  }
  return next
}

/**
 * Some local servers send every call with index 0 or none: a different id after arguments have begun starts another call, and without
 * ids a name after complete arguments.
 */
function startsAnotherCall(known: PartialCall, { id, name, args }: Pick<PartialCall, "id" | "name" | "args">): boolean {
  if (known.args === "") return false
  if (known.id !== "") return id !== "" && id !== known.id
  return name !== "" && args !== "" && isRecord(parseJson(known.args))
}

/** For servers that send no `index`: a delta without id, or with the id of the last call, continues that call. */
function lastCallOrNone(calls: readonly PartialCall[], id: string): number {
  const last = calls.at(-1)
  return last !== undefined && (id === "" || last.id === id) ? calls.length - 1 : -1
}

/** A few servers send the arguments as an object instead of text. */
function argumentText(value: unknown): string {
  if (typeof value === "string") return value
  return isRecord(value) ? JSON.stringify(value) : ""
}

function mergeDetails(
  known: readonly Readonly<Record<string, unknown>>[],
  more: readonly Readonly<Record<string, unknown>>[],
): readonly Readonly<Record<string, unknown>>[] {
  const merged = [...known]
  for (const block of more) {
    const position = merged.findIndex((other) => other["index"] === block["index"] && other["type"] === block["type"])
    const before = position === -1 ? undefined : merged[position]
    if (before === undefined || block["index"] === undefined) {
      merged.push(block)
      continue
    }
    const joined: Record<string, unknown> = { ...before, ...block }
    for (const field of ["text", "summary", "data"]) {
      const whole = text(before[field]) + text(block[field])
      if (whole !== "") joined[field] = whole
    }
    merged[position] = joined
  }
  return merged
}

function finish(state: ChatState, connection: { readonly complete: boolean }): DecodeResult {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "unusable", received: "an empty stream" }
  // Every complete stream has a finish reason or `[DONE]`; without them it was cut off, however the connection ended.
  const lost = state.finish === undefined && !state.done && !connection.complete
  const complete = state.calls.filter((call) => call.name !== "" && isCompleteCall(call, { lost }))
  const hasBrokenCall = state.calls.length > complete.length
  if (state.finish === undefined && hasBrokenCall) {
    return { kind: "reply", reply: { ...replyOf(state, [], "length"), ending: "cut-call" } }
  }
  if (lost && complete.length === 0) {
    return state.content === ""
      ? { kind: "unusable", received: "a stream that was cut off" }
      : { kind: "reply", reply: { ...replyOf(state, [], "stop"), ending: "cut-text" } }
  }
  // A finished reply keeps malformed calls as the model wrote them: the tool dispatcher repairs or rejects them.
  const calls = state.finish === undefined ? complete : state.calls.filter((call) => call.name !== "")
  return { kind: "reply", reply: replyOf(state, calls, finishReason(state, calls.length)) }
}

/**
 * A call is complete when its arguments are valid JSON; empty arguments count as complete unless the connection was
 * lost.
 */
function isCompleteCall(call: PartialCall, { lost }: { readonly lost: boolean }): boolean {
  return call.args.trim() === "" ? !lost : parseJson(call.args) !== undefined
}

function replyOf(state: ChatState, calls: readonly PartialCall[], reason: FinishReason): ModelReply {
  const refused = state.content === "" && state.refusal !== ""
  const content = refused ? state.refusal : state.content
  return {
    content: content === "" ? null : content,
    toolCalls: calls.map(toCall),
    finishReason: refused ? "content_filter" : reason,
    reasoning: state.reasoning === "" ? null : state.reasoning,
    ...(state.usage === undefined ? {} : { usage: state.usage }),
    carriers: {
      ...(state.reasoningContent === "" ? {} : { reasoning_content: state.reasoningContent }),
      ...(state.reasoningDetails.length === 0 ? {} : { reasoning_details: state.reasoningDetails }),
    },
    ending: "complete",
  }
}

function toCall(call: PartialCall): ToolCall {
  const args = call.args.trim() === "" ? "{}" : call.args
  return {
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: args },
    ...(call.extra === undefined ? {} : { extra_content: call.extra }),
  }
}

function finishReason(state: ChatState, calls: number): FinishReason {
  switch (state.finish) {
    case "length":
    case "max_tokens":
      return "length"
    case "content_filter":
      return "content_filter"
    default:
      return calls > 0 ? "tool_calls" : "stop"
  }
}

function decodeComplete(body: string): DecodeResult {
  const parsed = parseJson(body)
  if (!isRecord(parsed)) return { kind: "unusable", received: "something that is not JSON", notModelServer: true }
  if (parsed["error"] !== undefined && parsed["error"] !== null) return { kind: "error", body }
  if (!Array.isArray(parsed["choices"])) {
    // Overloaded providers send an empty object, or one with only the metadata.
    const known = ["id", "object", "model", "created", "usage"].some((name) => Object.hasOwn(parsed, name))
    const isUnrelated = !known && Object.keys(parsed).length > 0
    return { kind: "unusable", received: "JSON without choices", ...(isUnrelated ? { notModelServer: true } : {}) }
  }
  const [state] = applyChunk(INITIAL_STATE, parsed)
  return finish(state, { complete: true })
}

/**
 * `prompt_tokens` includes the cached tokens, `Usage.input` does not. Vendors put the cached counts in different fields: OpenAI and most
 * others in the details, Moonshot next to the totals, Alibaba in the details under Anthropic's names.
 */
function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const promptDetails = isRecord(value["prompt_tokens_details"]) ? value["prompt_tokens_details"] : {}
  const completionDetails = isRecord(value["completion_tokens_details"]) ? value["completion_tokens_details"] : {}
  const cacheRead =
    tokenCount(promptDetails["cached_tokens"]) ||
    tokenCount(value["cached_tokens"]) ||
    tokenCount(value["cache_read_input_tokens"])
  const cacheWrite =
    tokenCount(promptDetails["cache_write_tokens"]) ||
    tokenCount(promptDetails["cache_creation_input_tokens"]) ||
    tokenCount(value["cache_creation_input_tokens"])
  const prompt = tokenCount(value["prompt_tokens"])
  const completion = tokenCount(value["completion_tokens"])
  const reasoning = tokenCount(completionDetails["reasoning_tokens"])
  // xAI leaves reasoning out of the completion tokens; only the total shows it.
  const isApart = reasoning > 0 && tokenCount(value["total_tokens"]) === prompt + completion + reasoning
  return {
    input: Math.max(0, prompt - cacheRead - cacheWrite),
    output: isApart ? completion + reasoning : completion,
    cacheRead,
    cacheWrite,
    reasoning,
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}
