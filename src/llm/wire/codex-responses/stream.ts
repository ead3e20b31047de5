import { isRecord, parseJson, stringField } from "../../../base/json.ts"
import type { Usage } from "../../../protocol/usage.ts"
import type { ModelEvent } from "../../model.ts"
import type { Frame } from "../../http/sse.ts"
import type { Item } from "./item.ts"
import { messageItemText, partsOf, reasoningItemText } from "./item.ts"
import type { ResponseOutput } from "./reply.ts"
import { replyFromOutput } from "./reply.ts"
import { tokenCount } from "../token-count.ts"
import type { DecodeResult } from "../wire.ts"

/**
 * The part of a response received so far. Finished items count, because some servers send an empty list in the terminal
 * event.
 */
export interface ResponsesState {
  readonly done: readonly Item[]
  /** Unfinished items, in the order in which they began. */
  readonly open: readonly OpenItem[]
  readonly terminal: Terminal | undefined
  readonly usage: Usage | undefined
  readonly frames: number
  readonly error: string | undefined
  /** A call has begun: later text belongs to the message but is not displayed as the answer. */
  readonly calling: boolean
  /** The item whose text, and the part whose reasoning, was emitted last; the next one starts with a separator. */
  readonly lastTextSlot: string
  readonly lastReasoningPart: string
}

interface OpenItem {
  readonly slot: string
  readonly type: string
  readonly item: Item
  readonly text: string
  readonly args: string
  /** The event type of the first reasoning delta; empty before it. */
  readonly reasoningEvent: string
}

interface Terminal {
  readonly status: string
  readonly reason: string
  readonly output: readonly Item[]
}

export const INITIAL_STATE: ResponsesState = {
  done: [],
  open: [],
  terminal: undefined,
  usage: undefined,
  frames: 0,
  error: undefined,
  calling: false,
  lastTextSlot: "",
  lastReasoningPart: "",
}

type Step = readonly [ResponsesState, readonly ModelEvent[]]

export function decodeFrame(state: ResponsesState, frame: Frame): Step | undefined {
  // Emit nothing after an error, so that the request can be repeated.
  if (state.error !== undefined) return [state, []]
  if (frame.data === "[DONE]" || frame.data.trim() === "") return [state, []]
  const event = parseJson(frame.data)
  if (!isRecord(event)) return undefined
  const counted = { ...state, frames: state.frames + 1 }
  const type = stringField(event, "type") ?? frame.event
  switch (type) {
    case "response.output_item.added":
      return startItem(counted, event)
    case "response.output_text.delta":
      return addText(counted, event)
    case "response.reasoning_summary_text.delta":
    case "response.reasoning_text.delta":
      return addReasoning(counted, event, type)
    case "response.function_call_arguments.delta":
      return [addArguments(counted, event, "append"), []]
    case "response.function_call_arguments.done":
      return [addArguments(counted, event, "replace"), []]
    case "response.output_item.done":
      return finishItem(counted, event)
    case "response.completed":
    case "response.done":
    case "response.incomplete":
    case "response.failed":
    case "response.cancelled":
      return [finishWith(counted, event, type), []]
    case "error":
      return failed(counted, errorBody(event))
    default:
      return isRecord(event["error"]) ? failed(counted, errorBody(event)) : [counted, []]
  }
}

function failed(state: ResponsesState, error: string): Step {
  return [{ ...state, error }, []]
}

/** Shapes the error like the body of an error response. The frame either contains the error or is the error. */
function errorBody(event: Item): string {
  if (isRecord(event["error"])) return JSON.stringify(event)
  const { type: _frameType, sequence_number: _number, ...error } = event
  return JSON.stringify({ error })
}

function startItem(state: ResponsesState, event: Item): Step {
  const item = isRecord(event["item"]) ? event["item"] : {}
  const type = stringField(item, "type") ?? ""
  const slot = slotOf(event, item)
  const opened: OpenItem = { slot, type, item, text: "", args: "", reasoningEvent: "" }
  const next = { ...state, open: [...state.open.filter((other) => other.slot !== slot), opened] }
  if (type !== "function_call") return [next, []]
  return [{ ...next, calling: true }, callEvents(stringField(item, "name") ?? "")]
}

function callEvents(tool: string): readonly ModelEvent[] {
  return tool === "" ? [] : [{ type: "tool-generating", tool }]
}

/** The output index is stable, while some servers change the id of an item in every frame. */
function slotOf(event: Item, item: Item): string {
  const index = event["output_index"]
  if (typeof index === "number") return `#${index}`
  return stringField(event, "item_id") ?? stringField(item, "id") ?? ""
}

function addText(state: ResponsesState, event: Item): Step {
  const slot = slotOf(event, {})
  const delta = stringField(event, "delta") ?? ""
  return emitText(
    updateItem(state, slot, "message", (open) => ({ ...open, text: open.text + delta })),
    slot,
    delta,
  )
}

function emitText(state: ResponsesState, slot: string, text: string): Step {
  if (text === "" || state.calling) return [state, []]
  const separator = state.lastTextSlot !== "" && state.lastTextSlot !== slot ? "\n" : ""
  return [{ ...state, lastTextSlot: slot }, [{ type: "text-delta", text: separator + text }]]
}

/** When a server streams both a summary and the raw reasoning, only the kind that came first is used. */
function addReasoning(state: ResponsesState, event: Item, type: string): Step {
  const slot = slotOf(event, {})
  const delta = stringField(event, "delta") ?? ""
  const known = state.open.find((open) => open.slot === slot)
  if (known !== undefined && known.reasoningEvent !== "" && known.reasoningEvent !== type) return [state, []]
  const part = event["summary_index"] ?? event["content_index"]
  const next = updateItem(state, slot, "reasoning", (open) => ({ ...open, reasoningEvent: type }))
  return emitReasoning(next, `${slot} ${typeof part === "number" ? part : 0}`, delta)
}

function emitReasoning(state: ResponsesState, part: string, text: string): Step {
  if (text === "") return [state, []]
  const separator = state.lastReasoningPart !== "" && state.lastReasoningPart !== part ? "\n\n" : ""
  return [{ ...state, lastReasoningPart: part }, [{ type: "reasoning-delta", text: separator + text }]]
}

function addArguments(state: ResponsesState, event: Item, mode: "append" | "replace"): ResponsesState {
  const text = stringField(event, mode === "append" ? "delta" : "arguments") ?? ""
  if (text === "") return state
  return updateItem(state, slotOf(event, {}), "function_call", (open) => ({
    ...open,
    args: mode === "append" ? open.args + text : text,
  }))
}

/** A delta for an unknown item opens it. */
function updateItem(
  state: ResponsesState,
  slot: string,
  type: string,
  update: (open: OpenItem) => OpenItem,
): ResponsesState {
  const position = state.open.findIndex((open) => open.slot === slot)
  const known = state.open[position] ?? { slot, type, item: { type }, text: "", args: "", reasoningEvent: "" }
  const changed = update(known)
  return { ...state, open: position === -1 ? [...state.open, changed] : state.open.with(position, changed) }
}

function finishItem(state: ResponsesState, event: Item): Step {
  if (!isRecord(event["item"])) return [state, []]
  const slot = slotOf(event, event["item"])
  const known = state.open.find((open) => open.slot === slot)
  const item = known === undefined ? event["item"] : withStreamedParts(event["item"], known)
  const next = {
    ...state,
    done: [...state.done, item],
    open: state.open.filter((open) => open.slot !== slot),
  }
  switch (item["type"]) {
    case "message":
      return emitText(next, slot, unsentText(streamedText(item), known?.text ?? ""))
    case "reasoning":
      return known !== undefined && known.reasoningEvent !== ""
        ? [next, []]
        : emitReasoning(next, `${slot} full`, reasoningItemText(item))
    case "function_call":
      // Emitted once per call: at its start, or here if its name was missing then.
      return [
        { ...next, calling: true },
        stringField(known?.item, "name") ? [] : callEvents(stringField(item, "name") ?? ""),
      ]
    default:
      return [next, []]
  }
}

/** Refusals are not streamed; the complete response decides about them. */
function streamedText(item: Item): string {
  return partsOf(item).some((part) => part["type"] === "refusal") ? "" : messageItemText(item)
}

/** The part of the finished text that no delta contained; some servers send no deltas. */
function unsentText(full: string, seen: string): string {
  return full.startsWith(seen) ? full.slice(seen.length) : ""
}

/** A few servers omit from the finished item what they streamed before. */
function withStreamedParts(item: Item, open: OpenItem): Item {
  if (item["type"] === "function_call") {
    const isEmpty = item["arguments"] === undefined || item["arguments"] === ""
    return { ...open.item, ...item, ...(isEmpty ? { arguments: open.args } : {}) }
  }
  if (item["type"] === "message" && messageItemText(item) === "" && open.text !== "") {
    return { ...item, content: [{ type: "output_text", text: open.text }] }
  }
  return item
}

function finishWith(state: ResponsesState, event: Item, type: string): ResponsesState {
  const response = isRecord(event["response"]) ? event["response"] : {}
  const status = stringField(response, "status") ?? STATUS_OF_EVENT[type] ?? "completed"
  const terminal = terminalOf(response, status)
  const next = { ...state, terminal, usage: readUsage(response["usage"]) ?? state.usage }
  return status === "failed" || status === "cancelled" ? { ...next, error: failureBody(response, status) } : next
}

const STATUS_OF_EVENT: Readonly<Record<string, string>> = {
  "response.incomplete": "incomplete",
  "response.failed": "failed",
  "response.cancelled": "cancelled",
}

function terminalOf(response: Item, status: string): Terminal {
  return {
    status,
    reason: stringField(response["incomplete_details"], "reason") ?? "",
    output: Array.isArray(response["output"]) ? response["output"].filter(isRecord) : [],
  }
}

function failureBody(response: Item, status: string): string {
  const error = isRecord(response["error"])
    ? response["error"]
    : { message: `the server reported the response as ${status} without a reason` }
  return JSON.stringify({ error })
}

export function finishResponse(
  state: ResponsesState,
  connection: { readonly ended: boolean; readonly issuerKind: string },
): DecodeResult {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "unusable", received: "an empty stream" }
  const { terminal } = state
  const listed = terminal !== undefined && state.done.length === 0 && hasNoContent(state.open) ? terminal.output : []
  const output: ResponseOutput = {
    items: [...state.done, ...listed],
    unfinished: state.open.map(unfinishedItem),
    usage: state.usage,
    issuerKind: connection.issuerKind,
  }
  if (terminal !== undefined) return replyFromOutput(output, { kind: "terminal", ...terminal })
  return replyFromOutput(output, { kind: connection.ended ? "closed" : "lost" })
}

function hasNoContent(open: readonly OpenItem[]): boolean {
  return open.every(({ text, args, type }) => text === "" && args === "" && type !== "function_call")
}

function unfinishedItem(open: OpenItem): Item {
  switch (open.type) {
    case "message":
      return { ...open.item, content: [{ type: "output_text", text: open.text }] }
    case "function_call":
      return { ...open.item, arguments: open.args }
    default:
      return open.item
  }
}

/** Decodes a response that is one JSON document; its items are the `output` list. */
export function decodeCompleteResponse(body: string, issuerKind: string): DecodeResult {
  const response = parseJson(body)
  if (!isRecord(response)) return { kind: "unusable", received: "something that is not JSON", notModelServer: true }
  if (response["error"] !== undefined && response["error"] !== null) return { kind: "error", body }
  if (!Array.isArray(response["output"])) return { kind: "unusable", received: "JSON without output" }
  const state = finishWith({ ...INITIAL_STATE, frames: 1 }, { response }, "response.completed")
  return finishResponse(state, { ended: true, issuerKind })
}

/** `input_tokens` includes the cached tokens, `Usage.input` does not. */
function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const inputDetails = isRecord(value["input_tokens_details"]) ? value["input_tokens_details"] : {}
  const outputDetails = isRecord(value["output_tokens_details"]) ? value["output_tokens_details"] : {}
  const cacheRead = tokenCount(inputDetails["cached_tokens"])
  const cacheWrite = tokenCount(inputDetails["cache_write_tokens"]) || tokenCount(inputDetails["cache_creation_tokens"])
  return {
    input: Math.max(0, tokenCount(value["input_tokens"]) - cacheRead - cacheWrite),
    output: tokenCount(value["output_tokens"]),
    cacheRead,
    cacheWrite,
    reasoning: tokenCount(outputDetails["reasoning_tokens"]),
  }
}
