import { isRecord, parseJson } from "../../base/json.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { FinishReason, Message, ToolCall } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { Usage } from "../../protocol/usage.ts"
import { modelTail } from "../detect-wire.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "../model.ts"
import { moonshotSchema } from "./schema-flavours.ts"
import type { Frame } from "../http/sse.ts"
import { cacheMarker, markedFrom, withMarker } from "./chat-cache-markers.ts"
import { chatMessage, messageForm } from "./chat-messages.ts"
import type { MessageForm } from "./chat-messages.ts"
import {
  isCopilot,
  isMoonshot,
  isMoonshotModel,
  isOpenAi,
  isQwenPortal,
  takesCacheMarkers,
  takesResultImages,
  wantsReasoningEcho,
} from "./chat-places.ts"
import { chatExtras, chatTemperature } from "./chat-provider-extras.ts"
import type { OpenRouterSettings } from "./chat-provider-extras.ts"
import { tokenCount } from "./token-count.ts"
import { derivedCallId } from "./derived-call-id.ts"
import type { Finished, Wire, WirePlace } from "./wire.ts"

export interface ChatCompletionsOptions {
  /** False for servers that reject `stream_options`. */
  readonly includeUsage?: boolean
  /** False for servers that reject `stream`. */
  readonly streaming?: boolean
  /** Fields of the settings, which win over ours. */
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** The provider's output cap, for requests that name none. */
  readonly maxTokensDefault?: number
  readonly openRouter?: OpenRouterSettings
}

/** Chat Completions as OpenAI documents it, with the liberties other servers of the same wire take. */
export function createChatCompletionsWire(place: WirePlace, options: ChatCompletionsOptions): Wire<ChatState> {
  const encoderFor = rememberMessages()
  const encodeTools = rememberTools()

  return {
    framing: "sse",
    textResults: !takesResultImages(place),
    echoesReasoning: (model) => wantsReasoningEcho(place, model),
    path: () => "/chat/completions",
    headers: (request) => chatExtras(request, place, options).headers,
    encode: (request) => {
      const head = JSON.stringify(parameters(request, place, options)).slice(0, -1)
      const flavour = isMoonshot(place) || isMoonshotModel(request.model) ? "moonshot" : "common"
      const tools = request.tools.length === 0 ? "" : `,"tools":${encodeTools(request.tools, flavour)}`
      const form = messageForm(place, request.model)
      const encodeMessage = encoderFor(form)
      const marker =
        request.cacheTtl !== undefined && takesCacheMarkers(place, request.model) ? request.cacheTtl : undefined
      const system = systemMessage(request, place, marker)
      const marked =
        marker === undefined
          ? Number.POSITIVE_INFINITY
          : markedFrom(request.messages.length, { system: system.length > 0 })
      // Markers move on with every request, so a marked message is written anew; the others keep their bytes.
      const messages = request.messages.map((message, position) =>
        marker === undefined || position < marked
          ? encodeMessage(message)
          : JSON.stringify(withMarker(chatMessage(message, form), cacheMarker(marker))),
      )
      return `${head}${tools},"messages":[${[...system, ...messages].join(",")}]}`
    },
    start: () => EMPTY,
    decode,
    finish,
    decodeWhole,
  }
}

/** Everything before the tools and the conversation; the same for all requests of a session. */
function parameters(
  request: ModelRequest,
  place: WirePlace,
  options: ChatCompletionsOptions,
): Readonly<Record<string, unknown>> {
  const { includeUsage = true, streaming = true } = options
  const extras = chatExtras(request, place, options)
  const temperature = chatTemperature(request, place)
  const cap = request.maxOutputTokens ?? defaultCap(options.maxTokensDefault, place) ?? extras.maxTokens
  const choice = request.toolChoice ?? "auto"
  const { messages: _messages, tools: _tools, ...wishes } = options.extraBody ?? {}
  return {
    model: request.model,
    stream: streaming,
    ...(streaming && includeUsage ? { stream_options: { include_usage: true } } : {}),
    ...(cap === undefined ? {} : { [capKey(request, place)]: cap }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(choice === "auto" || request.tools.length === 0 ? {} : { tool_choice: choice }),
    ...extras.body,
    ...wishes,
  }
}

/** A default that would fill the whole window leaves no room for the prompt. */
function defaultCap(cap: number | undefined, { contextLength }: WirePlace): number | undefined {
  return cap === undefined || cap < contextLength ? cap : Math.max(1, Math.floor(contextLength / 2))
}

function capKey(request: ModelRequest, place: WirePlace): "max_completion_tokens" | "max_tokens" {
  const modern =
    isOpenAi(place) || isCopilot(place) || /^(gpt-4o|gpt-4\.1|gpt-5|o1|o3|o4)/.test(modelTail(request.model))
  return modern ? "max_completion_tokens" : "max_tokens"
}

/** Models of these families call the first message `developer`; our history always says `system`. */
function systemMessage(request: ModelRequest, place: WirePlace, ttl: "5m" | "1h" | undefined): string[] {
  if (request.system === "") return []
  const role = /gpt-5|codex/i.test(request.model) ? "developer" : "system"
  const message = { role, content: scrubSurrogates(request.system) }
  const marked = ttl ?? (isQwenPortal(place) ? "5m" : undefined)
  return [JSON.stringify(marked === undefined ? message : withMarker(message, cacheMarker(marked)))]
}

/** A message is written once per form: a session may change its model, and with it the form. */
function rememberMessages(): (form: MessageForm) => (message: Message) => string {
  const forms = new Map<string, WeakMap<Message, string>>()
  return (form) => {
    const key = Object.values(form).join()
    const known = forms.get(key) ?? new WeakMap<Message, string>()
    forms.set(key, known)
    return (message) => {
      const written = known.get(message)
      if (written !== undefined) return written
      const bytes = JSON.stringify(chatMessage(message, form))
      known.set(message, bytes)
      return bytes
    }
  }
}

type Flavour = "common" | "moonshot"

function rememberTools(): (tools: readonly ToolDefinition[], flavour: Flavour) => string {
  const flavours: Record<Flavour, WeakMap<readonly ToolDefinition[], string>> = {
    common: new WeakMap(),
    moonshot: new WeakMap(),
  }
  return (tools, flavour) => {
    const bytes = flavours[flavour].get(tools) ?? JSON.stringify(tools.map((tool) => wireTool(tool, flavour)))
    flavours[flavour].set(tools, bytes)
    return bytes
  }
}

function wireTool({ name, description, parameters: schema }: ToolDefinition, flavour: Flavour): unknown {
  const parameters = flavour === "moonshot" ? moonshotSchema(schema) : schema
  return { type: "function", function: { name, description, parameters } }
}

interface ChatState {
  readonly content: string
  readonly refusal: string
  readonly reasoning: string
  readonly reasoningContent: string
  readonly reasoningDetails: readonly Readonly<Record<string, unknown>>[]
  readonly slots: readonly Slot[]
  readonly finish: string | undefined
  readonly usage: Usage | undefined
  readonly frames: number
  readonly done: boolean
  readonly error: string | undefined
}

interface Slot {
  readonly index: number
  readonly id: string
  readonly name: string
  readonly args: string
  readonly extra: unknown
}

const EMPTY: ChatState = {
  content: "",
  refusal: "",
  reasoning: "",
  reasoningContent: "",
  reasoningDetails: [],
  slots: [],
  finish: undefined,
  usage: undefined,
  frames: 0,
  done: false,
  error: undefined,
}

function decode(state: ChatState, frame: Frame): readonly [ChatState, readonly ModelEvent[]] {
  // After an error nothing more is shown, so that the request can be repeated.
  if (state.error !== undefined) return [state, []]
  if (frame.data === "[DONE]") return [{ ...state, done: true }, []]
  if (frame.data.trim() === "") return [state, []]
  const chunk = parseJson(frame.data)
  if (!isRecord(chunk)) return [{ ...state, error: `a frame that is not JSON: ${frame.data.slice(0, 120)}` }, []]
  if (chunk["error"] !== undefined && chunk["error"] !== null) return [{ ...state, error: frame.data }, []]
  const usage = readUsage(chunk["usage"]) ?? state.usage
  const choices = chunk["choices"]
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  const counted = { ...state, usage, frames: state.frames + 1 }
  if (!isRecord(choice)) return [counted, []]
  const delta = isRecord(choice["delta"]) ? choice["delta"] : isRecord(choice["message"]) ? choice["message"] : {}
  const [next, events] = takeDelta(counted, delta)
  const finish = text(choice["finish_reason"])
  return [finish === "" ? next : { ...next, finish }, events]
}

function takeDelta(
  state: ChatState,
  delta: Readonly<Record<string, unknown>>,
): readonly [ChatState, readonly ModelEvent[]] {
  const events: ModelEvent[] = []
  const spoken = text(delta["content"])
  const refusal = text(delta["refusal"])
  const reasoningContent = text(delta["reasoning_content"])
  const reasoning = text(delta["reasoning"]) || reasoningContent
  const details = Array.isArray(delta["reasoning_details"]) ? delta["reasoning_details"].filter(isRecord) : []
  const thought = reasoning || details.map((block) => text(block["text"]) || text(block["summary"])).join("")
  const slots = Array.isArray(delta["tool_calls"]) ? takeCalls(state.slots, delta["tool_calls"], events) : state.slots
  if (thought !== "") events.unshift({ type: "reasoning-delta", text: thought })
  // Once a call was seen, further text belongs to the message but is no longer shown as the answer.
  if (spoken !== "" && state.slots.length === 0) events.push({ type: "text-delta", text: spoken })
  return [
    {
      ...state,
      content: state.content + spoken,
      refusal: state.refusal + refusal,
      reasoning: state.reasoning + thought,
      reasoningContent: state.reasoningContent + reasoningContent,
      reasoningDetails: details.length === 0 ? state.reasoningDetails : mergeDetails(state.reasoningDetails, details),
      slots,
    },
    events,
  ]
}

/** Slots by `index`; the name is assigned (providers repeat it), the arguments are appended. */
function takeCalls(slots: readonly Slot[], deltas: readonly unknown[], events: ModelEvent[]): readonly Slot[] {
  const next = [...slots]
  for (const delta of deltas) {
    if (!isRecord(delta)) continue
    const called = isRecord(delta["function"]) ? delta["function"] : {}
    const id = text(delta["id"])
    const name = text(called["name"])
    const args = argumentText(called["arguments"])
    const extra = delta["extra_content"]
    const index = typeof delta["index"] === "number" ? delta["index"] : undefined
    const at = index === undefined ? lastOrNew(next, id) : next.findLastIndex((slot) => slot.index === index)
    const known = at === -1 ? undefined : next[at]
    // Some local servers send every call at index 0: another id after arguments began is another call.
    const another = known !== undefined && id !== "" && known.id !== "" && id !== known.id && known.args !== ""
    if (known === undefined || another) {
      next.push({ index: index ?? next.length, id, name, args, extra })
    } else {
      next[at] = {
        ...known,
        id: known.id || id,
        name: name || known.name,
        args: known.args + args,
        extra: extra ?? known.extra,
      }
    }
    if (name !== "" && (known === undefined || another || known.name === ""))
      events.push({ type: "tool-generating", tool: name })
  }
  return next
}

function lastOrNew(slots: readonly Slot[], id: string): number {
  const last = slots.at(-1)
  return last !== undefined && (id === "" || last.id === id) ? slots.length - 1 : -1
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
    const at = merged.findIndex((other) => other["index"] === block["index"] && other["type"] === block["type"])
    const before = at === -1 ? undefined : merged[at]
    if (before === undefined || block["index"] === undefined) {
      merged.push(block)
      continue
    }
    const joined: Record<string, unknown> = { ...before, ...block }
    for (const field of ["text", "summary", "data"]) {
      const whole = text(before[field]) + text(block[field])
      if (whole !== "") joined[field] = whole
    }
    merged[at] = joined
  }
  return merged
}

function finish(state: ChatState, how: { readonly ended: boolean }): Finished {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "nothing", why: "an empty stream" }
  const lost = !how.ended && state.finish === undefined && !state.done
  const whole = state.slots.filter((slot) => slot.name !== "" && isWholeCall(slot, { lost }))
  const broken = state.slots.length > whole.length
  if (state.finish === undefined && broken) {
    return { kind: "reply", reply: { ...replyOf(state, [], "length"), ending: "cut-call" } }
  }
  if (lost && whole.length === 0) {
    return state.content === ""
      ? { kind: "nothing", why: "a stream that was cut off" }
      : { kind: "reply", reply: { ...replyOf(state, [], "stop"), ending: "cut-text" } }
  }
  // A finished reply keeps its calls as the model wrote them, also unreadable ones: repairing them is the door's business.
  const calls = state.finish === undefined ? whole : state.slots.filter((slot) => slot.name !== "")
  return { kind: "reply", reply: replyOf(state, calls, finishReason(state, calls.length)) }
}

/** A call is whole when its arguments are; a server that ended without sending any means "no arguments". */
function isWholeCall(slot: Slot, { lost }: { readonly lost: boolean }): boolean {
  return slot.args.trim() === "" ? !lost : parseJson(slot.args) !== undefined
}

function replyOf(state: ChatState, slots: readonly Slot[], reason: FinishReason): ModelReply {
  const refused = state.content === "" && state.refusal !== ""
  const content = refused ? state.refusal : state.content
  return {
    content: content === "" ? null : content,
    toolCalls: slots.map(toCall),
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

function toCall(slot: Slot, position: number): ToolCall {
  const args = slot.args.trim() === "" ? "{}" : slot.args
  return {
    id: slot.id === "" ? derivedCallId(slot.name, args, position) : slot.id,
    type: "function",
    function: { name: slot.name, arguments: args },
    ...(slot.extra === undefined ? {} : { extra_content: slot.extra }),
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

function decodeWhole(body: string): Finished {
  const parsed = parseJson(body)
  if (!isRecord(parsed)) return { kind: "nothing", why: "something that is not JSON", foreign: true }
  if (parsed["error"] !== undefined && parsed["error"] !== null) return { kind: "error", body }
  if (!Array.isArray(parsed["choices"])) {
    // Providers that are too busy say nothing, or only who they are.
    const known = ["id", "object", "model", "created", "usage"].some((name) => Object.hasOwn(parsed, name))
    const foreign = !known && Object.keys(parsed).length > 0
    return { kind: "nothing", why: "JSON without choices", ...(foreign ? { foreign } : {}) }
  }
  const [state] = decode(EMPTY, { event: "", data: body })
  return finish(state, { ended: true })
}

/** Cached tokens are part of `prompt_tokens` on this wire; ours are counted apart. */
function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const promptDetails = isRecord(value["prompt_tokens_details"]) ? value["prompt_tokens_details"] : {}
  const completionDetails = isRecord(value["completion_tokens_details"]) ? value["completion_tokens_details"] : {}
  const cacheRead = tokenCount(promptDetails["cached_tokens"]) || tokenCount(value["cache_read_input_tokens"])
  const cacheWrite = tokenCount(promptDetails["cache_write_tokens"]) || tokenCount(value["cache_creation_input_tokens"])
  return {
    input: Math.max(0, tokenCount(value["prompt_tokens"]) - cacheRead - cacheWrite),
    output: tokenCount(value["completion_tokens"]),
    cacheRead,
    cacheWrite,
    reasoning: tokenCount(completionDetails["reasoning_tokens"]),
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : ""
}
