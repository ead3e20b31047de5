import { isRecord, parseJson, stringField } from "../../base/json.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { ModelEvent } from "../model.ts"
import type { Frame } from "../http/sse.ts"
import type { Item } from "./codex-item.ts"
import { messageItemText, partsOf, reasoningItemText } from "./codex-item.ts"
import type { CodexOutput } from "./codex-reply.ts"
import { replyOfOutput } from "./codex-reply.ts"
import { tokenCount } from "./token-count.ts"
import type { Finished } from "./wire.ts"

/** What has arrived of a response. Items count when they are done; the list in the terminal event is empty on some servers. */
export interface ResponsesState {
  readonly done: readonly Item[]
  /** Begun and not done, in the order in which they began. */
  readonly open: readonly OpenItem[]
  readonly terminal: Terminal | undefined
  readonly usage: Usage | undefined
  readonly frames: number
  readonly error: string | undefined
  /** A call began: further text belongs to the message, but is no longer shown as the answer. */
  readonly calling: boolean
  /** The slot whose text, and the part whose thought, was shown last; another one is set apart. */
  readonly lastSpoken: string
  readonly lastThought: string
}

interface OpenItem {
  readonly slot: string
  readonly type: string
  readonly item: Item
  readonly text: string
  readonly args: string
  /** Which kind of thought arrived first; empty as long as none did. */
  readonly thoughtKind: string
}

interface Terminal {
  readonly status: string
  readonly reason: string
  readonly output: readonly Item[]
}

export const NO_OUTPUT: ResponsesState = {
  done: [],
  open: [],
  terminal: undefined,
  usage: undefined,
  frames: 0,
  error: undefined,
  calling: false,
  lastSpoken: "",
  lastThought: "",
}

type Step = readonly [ResponsesState, readonly ModelEvent[]]

export function decodeFrame(state: ResponsesState, frame: Frame): Step {
  // After an error nothing more is shown, so that the request can be repeated.
  if (state.error !== undefined) return [state, []]
  if (frame.data === "[DONE]" || frame.data.trim() === "") return [state, []]
  const event = parseJson(frame.data)
  if (!isRecord(event)) return failed(state, `a frame that is not JSON: ${frame.data.slice(0, 120)}`)
  const counted = { ...state, frames: state.frames + 1 }
  const type = stringField(event, "type") ?? frame.event
  switch (type) {
    case "response.output_item.added":
      return begin(counted, event)
    case "response.output_text.delta":
      return speak(counted, event)
    case "response.reasoning_summary_text.delta":
    case "response.reasoning_text.delta":
      return think(counted, event, type)
    case "response.function_call_arguments.delta":
      return [addArguments(counted, event, "append"), []]
    case "response.function_call_arguments.done":
      return [addArguments(counted, event, "replace"), []]
    case "response.output_item.done":
      return complete(counted, event)
    case "response.completed":
    case "response.done":
    case "response.incomplete":
    case "response.failed":
    case "response.cancelled":
      return [end(counted, event, type), []]
    case "error":
      return failed(counted, errorBody(event))
    default:
      return isRecord(event["error"]) ? failed(counted, errorBody(event)) : [counted, []]
  }
}

function failed(state: ResponsesState, error: string): Step {
  return [{ ...state, error }, []]
}

/** In the shape of an error answer, so that one place reads both. The frame may hold the error or be it. */
function errorBody(event: Item): string {
  if (isRecord(event["error"])) return JSON.stringify(event)
  const { type: _frameType, sequence_number: _number, ...error } = event
  return JSON.stringify({ error })
}

function begin(state: ResponsesState, event: Item): Step {
  const item = isRecord(event["item"]) ? event["item"] : {}
  const type = stringField(item, "type") ?? ""
  const slot = slotOf(event, item)
  const opened: OpenItem = { slot, type, item, text: "", args: "", thoughtKind: "" }
  const next = { ...state, open: [...state.open.filter((other) => other.slot !== slot), opened] }
  if (type !== "function_call") return [next, []]
  return [{ ...next, calling: true }, announce(stringField(item, "name") ?? "")]
}

function announce(tool: string): readonly ModelEvent[] {
  return tool === "" ? [] : [{ type: "tool-generating", tool }]
}

/** The place in the output is stable; some servers give the same item another id in every frame. */
function slotOf(event: Item, item: Item): string {
  const index = event["output_index"]
  if (typeof index === "number") return `#${index}`
  return stringField(event, "item_id") ?? stringField(item, "id") ?? ""
}

function speak(state: ResponsesState, event: Item): Step {
  const slot = slotOf(event, {})
  const delta = stringField(event, "delta") ?? ""
  return showText(
    change(state, slot, "message", (open) => ({ ...open, text: open.text + delta })),
    slot,
    delta,
  )
}

function showText(state: ResponsesState, slot: string, text: string): Step {
  if (text === "" || state.calling) return [state, []]
  const apart = state.lastSpoken !== "" && state.lastSpoken !== slot ? "\n" : ""
  return [{ ...state, lastSpoken: slot }, [{ type: "text-delta", text: apart + text }]]
}

/** A server that streams both a summary and the raw thoughts is heard once: the kind that came first counts. */
function think(state: ResponsesState, event: Item, type: string): Step {
  const slot = slotOf(event, {})
  const delta = stringField(event, "delta") ?? ""
  const known = state.open.find((open) => open.slot === slot)
  if (known !== undefined && known.thoughtKind !== "" && known.thoughtKind !== type) return [state, []]
  const part = event["summary_index"] ?? event["content_index"]
  const next = change(state, slot, "reasoning", (open) => ({ ...open, thoughtKind: type }))
  return showThought(next, `${slot} ${typeof part === "number" ? part : 0}`, delta)
}

function showThought(state: ResponsesState, part: string, text: string): Step {
  if (text === "") return [state, []]
  const apart = state.lastThought !== "" && state.lastThought !== part ? "\n\n" : ""
  return [{ ...state, lastThought: part }, [{ type: "reasoning-delta", text: apart + text }]]
}

function addArguments(state: ResponsesState, event: Item, how: "append" | "replace"): ResponsesState {
  const text = stringField(event, how === "append" ? "delta" : "arguments") ?? ""
  if (text === "") return state
  return change(state, slotOf(event, {}), "function_call", (open) => ({
    ...open,
    args: how === "append" ? open.args + text : text,
  }))
}

/** A delta for an item nobody announced opens it. */
function change(state: ResponsesState, slot: string, type: string, make: (open: OpenItem) => OpenItem): ResponsesState {
  const at = state.open.findIndex((open) => open.slot === slot)
  const known = state.open[at] ?? { slot, type, item: { type }, text: "", args: "", thoughtKind: "" }
  const changed = make(known)
  return { ...state, open: at === -1 ? [...state.open, changed] : state.open.with(at, changed) }
}

function complete(state: ResponsesState, event: Item): Step {
  if (!isRecord(event["item"])) return [state, []]
  const slot = slotOf(event, event["item"])
  const known = state.open.find((open) => open.slot === slot)
  const item = known === undefined ? event["item"] : filledIn(event["item"], known)
  const next = {
    ...state,
    done: [...state.done, item],
    open: state.open.filter((open) => open.slot !== slot),
  }
  switch (item["type"]) {
    case "message":
      return showText(next, slot, unseen(messageText(item), known?.text ?? ""))
    case "reasoning":
      return known !== undefined && known.thoughtKind !== ""
        ? [next, []]
        : showThought(next, `${slot} whole`, reasoningItemText(item))
    case "function_call":
      // Once per call: when it began, or now if its name was not known then.
      return [
        { ...next, calling: true },
        stringField(known?.item, "name") ? [] : announce(stringField(item, "name") ?? ""),
      ]
    default:
      return [next, []]
  }
}

/** Refusals are not streamed as an answer: what they mean is judged when the response is whole. */
function messageText(item: Item): string {
  return partsOf(item).some((part) => part["type"] === "refusal") ? "" : messageItemText(item)
}

/** What the finished text has beyond the deltas; on some servers that is all of it. */
function unseen(whole: string, seen: string): string {
  return whole.startsWith(seen) ? whole.slice(seen.length) : ""
}

/** A few servers leave out of the finished item what they streamed before. */
function filledIn(item: Item, open: OpenItem): Item {
  if (item["type"] === "function_call") {
    const isEmpty = item["arguments"] === undefined || item["arguments"] === ""
    return { ...open.item, ...item, ...(isEmpty ? { arguments: open.args } : {}) }
  }
  if (item["type"] === "message" && messageItemText(item) === "" && open.text !== "") {
    return { ...item, content: [{ type: "output_text", text: open.text }] }
  }
  return item
}

function end(state: ResponsesState, event: Item, type: string): ResponsesState {
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
    : { message: `the server says the response was ${status} and gives no reason` }
  return JSON.stringify({ error })
}

export function finishResponse(
  state: ResponsesState,
  how: { readonly ended: boolean; readonly issuerKind: string },
): Finished {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "nothing", why: "an empty stream" }
  const { terminal } = state
  const listed = terminal !== undefined && state.done.length === 0 && isSilent(state.open) ? terminal.output : []
  const output: CodexOutput = {
    items: [...state.done, ...listed],
    unfinished: state.open.map(unfinishedItem),
    usage: state.usage,
    issuerKind: how.issuerKind,
  }
  if (terminal !== undefined) return replyOfOutput(output, { kind: "told", ...terminal })
  return replyOfOutput(output, { kind: how.ended ? "untold" : "lost" })
}

function isSilent(open: readonly OpenItem[]): boolean {
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

/** A response that came as one document; here its list of items is all there is. */
export function readWholeResponse(body: string, issuerKind: string): Finished {
  const response = parseJson(body)
  if (!isRecord(response)) return { kind: "nothing", why: "something that is not JSON", foreign: true }
  if (response["error"] !== undefined && response["error"] !== null) return { kind: "error", body }
  if (!Array.isArray(response["output"])) return { kind: "nothing", why: "JSON without output" }
  const state = end({ ...NO_OUTPUT, frames: 1 }, { response }, "response.completed")
  return finishResponse(state, { ended: true, issuerKind })
}

/** Cached tokens are part of `input_tokens` on this wire; ours are counted apart. */
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
