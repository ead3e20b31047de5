import { isRecord, parseJson, stringField } from "../../base/json.ts"
import type { FinishReason, ReasoningCarriers, ToolCall } from "../../protocol/message.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { ModelReply } from "../model.ts"
import { callIdOf, itemIdOf } from "./codex-call-id.ts"
import { derivedCallId } from "./derived-call-id.ts"
import type { Item } from "./codex-item.ts"
import { messageItemText, partsOf, reasoningItemText } from "./codex-item.ts"
import type { Finished } from "./wire.ts"

/** What a response came to: items the server finished, and items it only began. */
export interface CodexOutput {
  readonly items: readonly Item[]
  readonly unfinished: readonly Item[]
  readonly usage: Usage | undefined
  readonly issuerKind: string
}

/** `told`: the terminal event came. `untold`: the stream ended without it. `lost`: the connection broke. */
export type Ending =
  | { readonly kind: "told"; readonly status: string; readonly reason: string }
  | { readonly kind: "untold" }
  | { readonly kind: "lost" }

export function replyOfOutput(output: CodexOutput, ending: Ending): Finished {
  const completed = ending.kind === "told" && ending.status === "completed"
  const doneCalls = ofType(output.items, "function_call")
  const begunCalls = ofType(output.unfinished, "function_call")
  const calls = [
    ...doneCalls.filter((item) => isWholeCall(item, { trusted: ending.kind !== "told" || completed })),
    ...(completed ? begunCalls.filter((item) => isWholeCall(item, { trusted: false })) : []),
  ]
  const isBroken = calls.length < doneCalls.length + begunCalls.length
  const begunText = ofType(output.unfinished, "message").some((item) => messageItemText(item) !== "")

  if (ending.kind !== "told") {
    if (isBroken) return cutReply(output, "cut-call")
    if (calls.length === 0 && begunText) return cutReply(output, "cut-text")
    // A thought alone is worth a new request when the rest was lost, and a continuation when the server ended by itself.
    const isEmpty = ending.kind === "lost" ? spokenText(output) === "" : output.items.length === 0
    if (calls.length === 0 && isEmpty) return { kind: "nothing", why: "a stream that ended before the response did" }
  }
  const reply = judgedReply(output, calls, ending)
  if (!isBroken || calls.length > 0) return { kind: "reply", reply }
  // A call that the output limit cut off is told as such: it needs more room, not another try.
  const limited = ending.kind === "told" && ending.reason === "max_output_tokens"
  return limited
    ? { kind: "reply", reply: { ...reply, toolCalls: [...doneCalls, ...begunCalls].map(toCall) } }
    : { kind: "reply", reply: { ...reply, ending: "cut-call" } }
}

/** Arguments the server cut off must not run. In a response that went well they stay as the model wrote them, readable or not. */
function isWholeCall(item: Item, { trusted }: { readonly trusted: boolean }): boolean {
  if (item["status"] === "incomplete" || (stringField(item, "name") ?? "") === "") return false
  const args = argumentText(item)
  return trusted || args.trim() === "" || parseJson(args) !== undefined
}

function cutReply(output: CodexOutput, ending: "cut-call" | "cut-text"): Finished {
  const text = spokenText(output)
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

function judgedReply(output: CodexOutput, calls: readonly Item[], ending: Ending): ModelReply {
  const text = spokenText(output)
  // The model wrote a call into its text instead of making it: nobody should read that, and it should try again.
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

function finishWithoutCalls(output: CodexOutput, ending: Ending, text: string): FinishReason {
  if (ending.kind === "told" && UNFINISHED.has(ending.status)) {
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

/** Said on the way; the answer is still to come. */
function isCommentary(item: Item): boolean {
  return item["phase"] === "commentary" || item["phase"] === "analysis"
}

function spokenText(output: CodexOutput): string {
  return ofType([...output.items, ...output.unfinished], "message")
    .map(messageItemText)
    .filter((text) => text !== "")
    .join("\n")
}

function commonParts(output: CodexOutput): Pick<ModelReply, "reasoning" | "usage"> {
  const reasoning = ofType(output.items, "reasoning")
    .map(reasoningItemText)
    .filter((text) => text !== "")
    .join("\n\n")
  return {
    reasoning: reasoning === "" ? null : reasoning,
    ...(output.usage === undefined ? {} : { usage: output.usage }),
  }
}

function toCall(item: Item, position: number): ToolCall {
  const name = stringField(item, "name") ?? ""
  const args = argumentText(item).trim() === "" ? "{}" : argumentText(item)
  const itemId = stringField(item, "id") ?? ""
  const given = stringField(item, "call_id") ?? ""
  const id = callIdOf({ id: itemId, call_id: given }) || derivedCallId(name, args, position)
  return {
    id,
    type: "function",
    function: { name, arguments: args },
    call_id: id,
    response_item_id: itemId === "" ? itemIdOf(given || id) : itemId,
  }
}

/** A few servers send the arguments as an object instead of text. */
function argumentText(item: Item): string {
  const args = item["arguments"]
  if (typeof args === "string") return args
  return isRecord(args) ? JSON.stringify(args) : ""
}

/** What the next request gives back, with the name of who can read it. */
function carriersOf(output: CodexOutput, { withMessages }: { readonly withMessages: boolean }): ReasoningCarriers {
  const stamp = { _issuer_kind: output.issuerKind }
  const thoughts = ofType(output.items, "reasoning")
    .filter((item) => (stringField(item, "encrypted_content") ?? "") !== "")
    .map((item) => ({ ...picked(item, ["type", "id", "summary", "encrypted_content"]), ...stamp }))
  const messages = ofType(output.items, "message")
    .filter((item) => withMessages && messageItemText(item) !== "")
    .map((item) => ({
      ...picked(item, ["type", "id", "role", "status", "phase"]),
      content: partsOf(item).map((part) => picked(part, ["type", "text", "refusal"])),
      ...stamp,
    }))
  return {
    ...(thoughts.length === 0 ? {} : { codex_reasoning_items: thoughts }),
    ...(messages.length === 0 ? {} : { codex_message_items: messages }),
  }
}

function picked(item: Item, keys: readonly string[]): Item {
  return Object.fromEntries(Object.entries(item).filter(([key, value]) => keys.includes(key) && value !== null))
}

function ofType(items: readonly Item[], type: string): readonly Item[] {
  return items.filter((item) => item["type"] === type)
}
