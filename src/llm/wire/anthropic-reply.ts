import { assertNever } from "../../base/assert-never.ts"
import { parseJson } from "../../base/json.ts"
import type { FinishReason, ReasoningCarriers, ToolCall } from "../../protocol/message.ts"
import type { ModelReply } from "../model.ts"
import type { Arrived, AnthropicState, CallBlock } from "./anthropic-stream.ts"
import { derivedCallId } from "./derived-call-id.ts"
import type { Finished } from "./wire.ts"

/** `signatures`: a server that refuses signatures gets its thinking back without, so there they are not kept. */
export interface ReplyOptions {
  readonly signatures: "kept" | "dropped"
}

export function finishReply(state: AnthropicState, options: ReplyOptions): Finished {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "nothing", why: "an empty stream" }
  if (state.stop === undefined && !state.done) return cutReply(state, options)
  const empty = state.blocks.every((block) => block.kind === "text" && block.text === "")
  if (empty && state.stop !== "end_turn" && state.stop !== "refusal") {
    return { kind: "nothing", why: `an empty reply (stop reason: ${state.stop ?? "none"})` }
  }
  // A finished reply keeps its calls as the model wrote them, also unreadable ones: repairing them is the door's business.
  return { kind: "reply", reply: replyOf(state, callsIn(state), options) }
}

/**
 * This wire always says why it stops, so a stream without that was cut, however politely the connection was closed. Calls that
 * had arrived in full may run.
 */
function cutReply(state: AnthropicState, options: ReplyOptions): Finished {
  const calls = callsIn(state)
  if (calls.length > 0 && calls.every(isWhole)) return { kind: "reply", reply: replyOf(state, calls, options) }
  const cut = { ...replyOf(state, [], options), finishReason: "length" } as const
  if (calls.length > 0) return { kind: "reply", reply: { ...cut, ending: "cut-call" } }
  return cut.content === null
    ? { kind: "nothing", why: "a stream that was cut off" }
    : { kind: "reply", reply: { ...cut, finishReason: "stop", ending: "cut-text" } }
}

function callsIn(state: AnthropicState): readonly CallBlock[] {
  return state.blocks.flatMap((block) => (block.kind === "call" && block.name !== "" ? [block] : []))
}

function isWhole(call: CallBlock): boolean {
  const args = call.args.trim() || call.input
  return args === "" ? call.closed : parseJson(args) !== undefined
}

function replyOf(state: AnthropicState, blocks: readonly CallBlock[], options: ReplyOptions): ModelReply {
  const calls = new Map(blocks.map((block, position) => [block, toCall(block, position)]))
  const texts = state.blocks.flatMap((block) => (block.kind === "text" && block.text !== "" ? [block.text] : []))
  const thoughts = state.blocks.flatMap((block) => (block.kind === "thinking" && block.text !== "" ? [block.text] : []))
  const content = texts.join("\n")
  return {
    // A refusal without a word is an answer, though an empty one.
    content: content === "" && state.stop !== "refusal" ? null : content,
    toolCalls: [...calls.values()],
    finishReason: finishReason(state.stop, calls.size),
    reasoning: thoughts.length === 0 ? null : thoughts.join("\n\n"),
    ...(state.usage === undefined ? {} : { usage: state.usage }),
    carriers: carriersOf(state, calls, options),
    ending: "complete",
  }
}

function toCall(block: CallBlock, position: number): ToolCall {
  const args = block.args.trim() === "" ? block.input || "{}" : block.args
  const id = block.id === "" ? derivedCallId(block.name, args, position) : block.id
  return { id, type: "function", function: { name: block.name, arguments: args } }
}

function finishReason(stop: string | undefined, calls: number): FinishReason {
  switch (stop) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "refusal":
      return "content_filter"
    case "pause_turn":
      return "incomplete"
    default:
      return calls > 0 ? "tool_calls" : "stop"
  }
}

function carriersOf(
  state: AnthropicState,
  calls: ReadonlyMap<CallBlock, ToolCall>,
  options: ReplyOptions,
): ReasoningCarriers {
  const thinking = state.blocks.flatMap((block) => thinkingValue(block, options))
  return {
    ...(thinking.length === 0 ? {} : { reasoning_details: thinking }),
    ...(isInterleaved(state, calls, options) ? { anthropic_content_blocks: orderedValues(state, calls, options) } : {}),
  }
}

/**
 * Thinking, text, calls is the order a message is rebuilt in. Signed thinking that came in between must go back in between, or
 * the signature no longer fits.
 */
function isInterleaved(state: AnthropicState, calls: ReadonlyMap<CallBlock, ToolCall>, options: ReplyOptions): boolean {
  const isSigned = (block: Arrived): boolean =>
    options.signatures === "kept" &&
    (block.kind === "redacted" || (block.kind === "thinking" && block.signature !== ""))
  const signed = state.blocks.findLastIndex(isSigned)
  const other = state.blocks.findIndex(
    (block) => block.kind === "call" || (block.kind === "text" && block.text.trim() !== ""),
  )
  return calls.size > 0 && other !== -1 && other < signed
}

/** Inputs are left out: they are read from the calls, where secrets are masked. */
function orderedValues(
  state: AnthropicState,
  calls: ReadonlyMap<CallBlock, ToolCall>,
  options: ReplyOptions,
): readonly unknown[] {
  return state.blocks.flatMap((block): readonly unknown[] => {
    switch (block.kind) {
      case "thinking":
      case "redacted":
        return thinkingValue(block, options)
      case "text":
        return block.text === "" ? [] : [{ type: "text", text: block.text }]
      case "call": {
        const call = calls.get(block)
        return call === undefined ? [] : [{ type: "tool_use", id: call.id, name: call.function.name }]
      }
      case "other":
        return []
      default:
        return assertNever(block)
    }
  })
}

function thinkingValue(block: Arrived, options: ReplyOptions): readonly unknown[] {
  if (block.kind === "redacted") return block.data === "" ? [] : [{ type: "redacted_thinking", data: block.data }]
  if (block.kind !== "thinking") return []
  const signature = options.signatures === "kept" ? block.signature : ""
  if (signature !== "") return [{ type: "thinking", thinking: block.text, signature }]
  return block.text === "" ? [] : [{ type: "thinking", thinking: block.text }]
}
