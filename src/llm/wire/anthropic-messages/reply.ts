import { assertNever } from "../../../base/assert-never.ts"
import { parseJson } from "../../../base/json.ts"
import type { FinishReason, ReasoningCarriers, ToolCall } from "../../../protocol/message.ts"
import type { ModelReply } from "../../model.ts"
import type { ReceivedBlock, AnthropicState, CallBlock } from "./stream.ts"
import type { DecodeResult } from "../wire.ts"

/** `signatures`: dropped for servers that reject signatures and receive their thinking back as plain text. */
export interface ReplyOptions {
  readonly signatures: "kept" | "dropped"
}

export function finishReply(state: AnthropicState, options: ReplyOptions): DecodeResult {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "unusable", received: "an empty stream" }
  if (state.stop === undefined && !state.done) return truncatedReply(state, options)
  const empty = state.blocks.every((block) => block.kind === "text" && block.text === "")
  if (empty && state.stop !== "end_turn" && state.stop !== "refusal") {
    return { kind: "unusable", received: `an empty reply (stop reason: ${state.stop ?? "none"})` }
  }
  // A finished reply keeps malformed calls as the model wrote them: the tool dispatcher repairs or rejects them.
  return { kind: "reply", reply: replyOf(state, callsIn(state), options) }
}

/**
 * Every complete stream of this format contains a stop reason, so one without it was cut off, even if the connection
 * closed normally. Calls that arrived completely may run.
 */
function truncatedReply(state: AnthropicState, options: ReplyOptions): DecodeResult {
  const calls = callsIn(state)
  if (calls.length > 0 && calls.every(isComplete)) return { kind: "reply", reply: replyOf(state, calls, options) }
  const cut = { ...replyOf(state, [], options), finishReason: "length" } as const
  if (calls.length > 0) return { kind: "reply", reply: { ...cut, ending: "cut-call" } }
  return cut.content === null
    ? { kind: "unusable", received: "a stream that was cut off" }
    : { kind: "reply", reply: { ...cut, finishReason: "stop", ending: "cut-text" } }
}

function callsIn(state: AnthropicState): readonly CallBlock[] {
  return state.blocks.flatMap((block) => (block.kind === "call" && block.name !== "" ? [block] : []))
}

function isComplete(call: CallBlock): boolean {
  const args = call.args.trim() || call.input
  return args === "" ? call.closed : parseJson(args) !== undefined
}

function replyOf(state: AnthropicState, blocks: readonly CallBlock[], options: ReplyOptions): ModelReply {
  const calls = new Map(blocks.map((block) => [block, toCall(block)]))
  const texts = state.blocks.flatMap((block) => (block.kind === "text" && block.text !== "" ? [block.text] : []))
  const thoughts = state.blocks.flatMap((block) => (block.kind === "thinking" && block.text !== "" ? [block.text] : []))
  const content = texts.join("\n") || (state.stop === "refusal" ? state.refusal : "")
  return {
    // A refusal without text and explanation is a reply with empty content.
    content: content === "" && state.stop !== "refusal" ? null : content,
    toolCalls: [...calls.values()],
    finishReason: finishReason(state.stop, calls.size),
    reasoning: thoughts.length === 0 ? null : thoughts.join("\n\n"),
    ...(state.usage === undefined ? {} : { usage: state.usage }),
    carriers: carriersOf(state, calls, options),
    ending: "complete",
  }
}

function toCall(block: CallBlock): ToolCall {
  const args = block.args.trim() === "" ? block.input || "{}" : block.args
  return { id: block.id, type: "function", function: { name: block.name, arguments: args } }
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
 * A message is normally rebuilt as thinking, text, calls. Signed thinking that came between other blocks must be sent
 * back at the same index, or its signature becomes invalid.
 */
function isInterleaved(state: AnthropicState, calls: ReadonlyMap<CallBlock, ToolCall>, options: ReplyOptions): boolean {
  const isSigned = (block: ReceivedBlock): boolean =>
    options.signatures === "kept" &&
    (block.kind === "redacted" || (block.kind === "thinking" && block.signature !== ""))
  const lastSigned = state.blocks.findLastIndex(isSigned)
  const firstOther = state.blocks.findIndex(
    (block) => block.kind === "call" || (block.kind === "text" && block.text.trim() !== ""),
  )
  return calls.size > 0 && firstOther !== -1 && firstOther < lastSigned
}

/** Without tool inputs: those are read from the calls, where secrets are masked. */
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

function thinkingValue(block: ReceivedBlock, options: ReplyOptions): readonly unknown[] {
  if (block.kind === "redacted") return block.data === "" ? [] : [{ type: "redacted_thinking", data: block.data }]
  if (block.kind !== "thinking") return []
  const signature = options.signatures === "kept" ? block.signature : ""
  if (signature !== "") return [{ type: "thinking", thinking: block.text, signature }]
  return block.text === "" ? [] : [{ type: "thinking", thinking: block.text }]
}
