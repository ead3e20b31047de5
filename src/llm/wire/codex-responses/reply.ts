import { isRecord, parseJson, stringField } from "../../../base/json.ts"
import type { FinishReason, ReasoningCarriers, ToolCall } from "../../../protocol/message.ts"
import type { Usage } from "../../../protocol/usage.ts"
import type { ModelReply } from "../../model.ts"
import { callIdOf, itemIdOf } from "./call-id.ts"
import type { Item } from "./item.ts"
import { messageItemText, partsOf, reasoningItemText } from "./item.ts"
import type { DecodeResult } from "../wire.ts"

/** The output of a response: finished items, and items that were only begun. */
export interface ResponseOutput {
  readonly items: readonly Item[]
  readonly unfinished: readonly Item[]
  readonly usage: Usage | undefined
  readonly issuerKind: string
}

/** `terminal`: the terminal event arrived. `closed`: the stream ended without it. `lost`: the connection broke. */
export type Ending =
  | { readonly kind: "terminal"; readonly status: string; readonly reason: string }
  | { readonly kind: "closed" }
  | { readonly kind: "lost" }

export function replyFromOutput(output: ResponseOutput, ending: Ending): DecodeResult {
  const completed = ending.kind === "terminal" && ending.status === "completed"
  const finishedCalls = ofType(output.items, "function_call")
  const unfinishedCalls = ofType(output.unfinished, "function_call")
  const calls = [
    ...finishedCalls.filter((item) => isCompleteCall(item, { trusted: ending.kind !== "terminal" || completed })),
    ...(completed ? unfinishedCalls.filter((item) => isCompleteCall(item, { trusted: false })) : []),
  ]
  const hasBrokenCall = calls.length < finishedCalls.length + unfinishedCalls.length
  const hasUnfinishedText = ofType(output.unfinished, "message").some((item) => messageItemText(item) !== "")

  if (ending.kind !== "terminal") {
    if (hasBrokenCall) return truncatedReply(output, "cut-call")
    // A message may be finished and the response not: without the terminal event nothing says that no more was to come.
    if (calls.length === 0 && (hasUnfinishedText || (ending.kind === "lost" && messageText(output) !== "")))
      return truncatedReply(output, "cut-text")
    // With nothing but reasoning, repeat the request if the connection was lost, and continue if the server ended the
    // stream.
    const isEmpty = ending.kind === "lost" ? messageText(output) === "" : output.items.length === 0
    if (calls.length === 0 && isEmpty)
      return { kind: "unusable", received: "a stream that ended before the response did" }
  }
  const reply = completeReply(output, calls, ending)
  if (!hasBrokenCall || calls.length > 0) return { kind: "reply", reply }
  // A call cut off by the output limit is returned with its reason: it needs a higher limit, not a retry.
  const limited = ending.kind === "terminal" && ending.reason === "max_output_tokens"
  return limited
    ? { kind: "reply", reply: { ...reply, toolCalls: [...finishedCalls, ...unfinishedCalls].map(toCall) } }
    : { kind: "reply", reply: { ...reply, ending: "cut-call" } }
}

/** A truncated call must not run. In a successful response the arguments are trusted and kept even if malformed. */
function isCompleteCall(item: Item, { trusted }: { readonly trusted: boolean }): boolean {
  if (item["status"] === "incomplete" || (stringField(item, "name") ?? "") === "") return false
  const args = argumentText(item)
  return trusted || args.trim() === "" || parseJson(args) !== undefined
}

function truncatedReply(output: ResponseOutput, ending: "cut-call" | "cut-text"): DecodeResult {
  const text = messageText(output)
  return {
    kind: "reply",
    reply: {
      content: text === "" ? null : text,
      toolCalls: [],
      finishReason: ending === "cut-call" ? "length" : "stop",
      ...commonParts(output),
      carriers: {},
      ending,
    },
  }
}

function completeReply(output: ResponseOutput, calls: readonly Item[], ending: Ending): ModelReply {
  const text = messageText(output)
  // The model wrote a tool call as text; hide it and let the model try again.
  const leaked = calls.length === 0 && LEAKED_CALL.test(text)
  return {
    content: leaked || text === "" ? null : text,
    toolCalls: calls.map(toCall),
    finishReason: calls.length > 0 ? "tool_calls" : leaked ? "incomplete" : finishWithoutCalls(output, ending, text),
    ...commonParts(output),
    carriers: carriersOf(output, { withMessages: !leaked }),
    ending: "complete",
  }
}

const LEAKED_CALL = /(?<!\w)to=functions\.\w/

function finishWithoutCalls(output: ResponseOutput, ending: Ending, text: string): FinishReason {
  if (ending.kind === "terminal" && UNFINISHED.has(ending.status)) {
    if (ending.reason === "max_output_tokens") return "length"
    return ending.reason === "content_filter" ? "content_filter" : "incomplete"
  }
  const messages = ofType(output.items, "message").filter((item) => messageItemText(item) !== "")
  if (messages.length > 0 && messages.every(isRefusal)) return "content_filter"
  if (messages.length > 0 && messages.every(isCommentary)) return "incomplete"
  if (text === "" && ofType(output.items, "reasoning").length > 0) return "incomplete"
  return "stop"
}

const UNFINISHED: ReadonlySet<string> = new Set(["queued", "in_progress", "incomplete"])

function isRefusal(item: Item): boolean {
  return partsOf(item).every((part) => part["type"] === "refusal")
}

/** An interim message; the final answer follows. */
function isCommentary(item: Item): boolean {
  return item["phase"] === "commentary" || item["phase"] === "analysis"
}

function messageText(output: ResponseOutput): string {
  return ofType([...output.items, ...output.unfinished], "message")
    .map(messageItemText)
    .filter((text) => text !== "")
    .join("\n")
}

function commonParts(output: ResponseOutput): Pick<ModelReply, "reasoning" | "usage"> {
  const reasoning = ofType(output.items, "reasoning")
    .map(reasoningItemText)
    .filter((text) => text !== "")
    .join("\n\n")
  return {
    reasoning: reasoning === "" ? null : reasoning,
    ...(output.usage === undefined ? {} : { usage: output.usage }),
  }
}

function toCall(item: Item): ToolCall {
  const name = stringField(item, "name") ?? ""
  const args = argumentText(item).trim() === "" ? "{}" : argumentText(item)
  const itemId = stringField(item, "id") ?? ""
  const callId = stringField(item, "call_id") ?? ""
  const id = callIdOf({ id: itemId, call_id: callId })
  const responseItemId = itemId || (callId === "" ? "" : itemIdOf(callId))
  return {
    id,
    type: "function",
    function: { name, arguments: args },
    call_id: id,
    ...(responseItemId === "" ? {} : { response_item_id: responseItemId }),
  }
}

/** A few servers send the arguments as an object instead of text. */
function argumentText(item: Item): string {
  const args = item["arguments"]
  if (typeof args === "string") return args
  return isRecord(args) ? JSON.stringify(args) : ""
}

/** What later requests send back, marked with the issuer that can decrypt it. */
function carriersOf(output: ResponseOutput, { withMessages }: { readonly withMessages: boolean }): ReasoningCarriers {
  const issuer = { _issuer_kind: output.issuerKind }
  const reasoningItems = ofType(output.items, "reasoning")
    .filter((item) => (stringField(item, "encrypted_content") ?? "") !== "")
    .map((item) => ({ ...picked(item, ["type", "id", "summary", "encrypted_content"]), ...issuer }))
  const messages = ofType(output.items, "message")
    .filter((item) => withMessages && messageItemText(item) !== "")
    .map((item) => ({
      ...picked(item, ["type", "id", "role", "status", "phase"]),
      content: partsOf(item).map((part) => picked(part, ["type", "text", "refusal"])),
      ...issuer,
    }))
  return {
    ...(reasoningItems.length === 0 ? {} : { codex_reasoning_items: reasoningItems }),
    ...(messages.length === 0 ? {} : { codex_message_items: messages }),
  }
}

function picked(item: Item, keys: readonly string[]): Item {
  return Object.fromEntries(Object.entries(item).filter(([key, value]) => keys.includes(key) && value !== null))
}

function ofType(items: readonly Item[], type: string): readonly Item[] {
  return items.filter((item) => item["type"] === type)
}
