import { isRecord, parseJson, stringField } from "../../../base/json.ts"
import type { FinishReason, ToolCall } from "../../../protocol/message.ts"
import type { Usage } from "../../../protocol/usage.ts"
import type { ModelEvent, ModelReply } from "../../model.ts"
import type { Frame } from "../../http/sse.ts"
import { REASONING_TYPE } from "./history.ts"
import { tokenCount } from "../token-count.ts"
import type { DecodeResult } from "../wire.ts"

export interface ConverseState {
  readonly blocks: readonly Block[]
  readonly stop: string | undefined
  readonly usage: Usage | undefined
  readonly frames: number
  readonly error: string | undefined
}

type Block =
  | { readonly kind: "text"; readonly index: number; readonly text: string }
  | {
      readonly kind: "reasoning"
      readonly index: number
      readonly text: string
      readonly signature: string
      readonly redacted: string
    }
  | CallBlock

interface CallBlock {
  readonly kind: "call"
  readonly index: number
  readonly id: string
  readonly name: string
  readonly args: string
  /** `contentBlockStop` has arrived. */
  readonly complete: boolean
}

export const INITIAL_STATE: ConverseState = {
  blocks: [],
  stop: undefined,
  usage: undefined,
  frames: 0,
  error: undefined,
}

type Step = readonly [ConverseState, readonly ModelEvent[]]

export function decodeConverse(state: ConverseState, frame: Frame): Step | undefined {
  // Emit nothing after an error, so that the request can be repeated.
  if (state.error !== undefined) return [state, []]
  if (frame.event === "error") return [{ ...state, error: frame.data }, []]
  const payload = parseJson(frame.data)
  if (!isRecord(payload)) return undefined
  const counted = { ...state, frames: state.frames + 1 }
  switch (frame.event) {
    case "contentBlockStart":
      return openBlock(counted, payload)
    case "contentBlockDelta":
      return applyDelta(counted, payload)
    case "contentBlockStop":
      return [closeBlock(counted, indexOf(payload)), []]
    case "messageStop":
      return [{ ...counted, stop: stringField(payload, "stopReason") ?? "end_turn" }, []]
    case "metadata":
      return [{ ...counted, usage: readUsage(payload["usage"]) ?? state.usage }, []]
    default:
      return [counted, []]
  }
}

/** Only tool uses have a start event; text and reasoning begin with their first delta. */
function openBlock(state: ConverseState, payload: Readonly<Record<string, unknown>>): Step {
  const start = isRecord(payload["start"]) ? payload["start"]["toolUse"] : undefined
  if (!isRecord(start)) return [state, []]
  const name = stringField(start, "name") ?? ""
  const id = stringField(start, "toolUseId") ?? ""
  const block: CallBlock = { kind: "call", index: indexOf(payload), id, name, args: "", complete: false }
  return [{ ...state, blocks: [...state.blocks, block] }, name === "" ? [] : [{ type: "tool-generating", tool: name }]]
}

function applyDelta(state: ConverseState, payload: Readonly<Record<string, unknown>>): Step {
  const delta = isRecord(payload["delta"]) ? payload["delta"] : {}
  const index = indexOf(payload)
  const text = stringField(delta, "text") ?? ""
  if (text !== "") return addText(state, index, text)
  const input = stringField(delta["toolUse"], "input") ?? ""
  if (input !== "") {
    return [
      mapBlock(state, index, (block) => (block.kind === "call" ? { ...block, args: block.args + input } : block)),
      [],
    ]
  }
  return isRecord(delta["reasoningContent"]) ? addReasoning(state, index, delta["reasoningContent"]) : [state, []]
}

function addText(state: ConverseState, index: number, text: string): Step {
  const known = state.blocks.some((block) => block.kind === "text" && block.index === index)
  const separator = !known && state.blocks.some((block) => block.kind === "text") ? TEXT_SEPARATOR : ""
  const next = known
    ? mapBlock(state, index, (block) => (block.kind === "text" ? { ...block, text: block.text + text } : block))
    : { ...state, blocks: [...state.blocks, { kind: "text", index, text } as const] }
  // Text after a tool call belongs to the message but is not displayed as the answer.
  const hidden = state.blocks.some((block) => block.kind === "call")
  return [next, hidden ? [] : [{ type: "text-delta", text: separator + text }]]
}

function addReasoning(state: ConverseState, index: number, delta: Readonly<Record<string, unknown>>): Step {
  const text = stringField(delta, "text") ?? ""
  const signature = stringField(delta, "signature") ?? ""
  const redacted = stringField(delta, "redactedContent") ?? ""
  const before = state.blocks.find((block) => block.kind === "reasoning" && block.index === index)
  const next =
    before === undefined
      ? { ...state, blocks: [...state.blocks, { kind: "reasoning", index, text, signature, redacted } as const] }
      : mapBlock(state, index, (block) =>
          block.kind === "reasoning"
            ? {
                ...block,
                text: block.text + text,
                signature: block.signature + signature,
                redacted: block.redacted + redacted,
              }
            : block,
        )
  const isAnotherBlock =
    (before === undefined || (before.kind === "reasoning" && before.text === "")) && reasoningOf(state) !== null
  const shown = isAnotherBlock ? REASONING_SEPARATOR + text : text
  return [next, text === "" ? [] : [{ type: "reasoning-delta", text: shown }]]
}

const TEXT_SEPARATOR = "\n"
const REASONING_SEPARATOR = "\n\n"

function closeBlock(state: ConverseState, index: number): ConverseState {
  return mapBlock(state, index, (block) => (block.kind === "call" ? { ...block, complete: true } : block))
}

function mapBlock(state: ConverseState, index: number, change: (block: Block) => Block): ConverseState {
  return { ...state, blocks: state.blocks.map((block) => (block.index === index ? change(block) : block)) }
}

function indexOf(payload: Readonly<Record<string, unknown>>): number {
  const index = payload["contentBlockIndex"]
  return typeof index === "number" ? index : 0
}

/** Every complete stream contains a stop reason, so one without it was cut off, however the connection ended. */
export function finishConverse(state: ConverseState): DecodeResult {
  if (state.error !== undefined) return { kind: "error", body: state.error }
  if (state.frames === 0) return { kind: "unusable", received: "an empty stream" }
  const calls = state.blocks.filter((block) => block.kind === "call").filter((call) => call.name !== "")
  if (state.stop !== undefined) return { kind: "reply", reply: replyOf(state, calls, finishReason(state.stop, calls)) }
  if (calls.some((call) => !call.complete)) {
    return { kind: "reply", reply: { ...replyOf(state, [], "length"), ending: "cut-call" } }
  }
  if (calls.length > 0) return { kind: "reply", reply: replyOf(state, calls, "tool_calls") }
  const reply = replyOf(state, [], "stop")
  return reply.content === null
    ? { kind: "unusable", received: "a stream that was cut off" }
    : { kind: "reply", reply: { ...reply, ending: "cut-text" } }
}

function finishReason(stop: string, calls: readonly CallBlock[]): FinishReason {
  switch (stop) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "content_filtered":
    case "guardrail_intervened":
      return "content_filter"
    default:
      return calls.length > 0 ? "tool_calls" : "stop"
  }
}

function replyOf(state: ConverseState, calls: readonly CallBlock[], reason: FinishReason): ModelReply {
  const texts = state.blocks.flatMap((block) => (block.kind === "text" ? [block.text] : []))
  const signed = signedReasoning(state)
  return {
    content: texts.length === 0 ? null : texts.join(TEXT_SEPARATOR),
    toolCalls: calls.map(toCall),
    finishReason: reason,
    reasoning: reasoningOf(state),
    ...(state.usage === undefined ? {} : { usage: state.usage }),
    carriers: signed.length === 0 ? {} : { reasoning_details: signed },
    ending: "complete",
  }
}

function reasoningOf(state: ConverseState): string | null {
  const texts = state.blocks.flatMap((block) => (block.kind === "reasoning" && block.text !== "" ? [block.text] : []))
  return texts.length === 0 ? null : texts.join(REASONING_SEPARATOR)
}

/** Only signed reasoning can be sent back. */
function signedReasoning(state: ConverseState): readonly unknown[] {
  return state.blocks.flatMap((block): readonly unknown[] => {
    if (block.kind !== "reasoning") return []
    if (block.redacted !== "") return [{ type: REASONING_TYPE, reasoningContent: { redactedContent: block.redacted } }]
    const { text, signature } = block
    return signature === "" ? [] : [{ type: REASONING_TYPE, reasoningContent: { reasoningText: { text, signature } } }]
  })
}

function toCall(block: CallBlock): ToolCall {
  const args = block.args.trim() === "" ? "{}" : block.args
  return { id: block.id, type: "function", function: { name: block.name, arguments: args } }
}

export function decodeCompleteConverse(body: string): DecodeResult {
  const parsed = parseJson(body)
  if (!isRecord(parsed)) return { kind: "unusable", received: "something that is not JSON", notModelServer: true }
  const message = isRecord(parsed["output"]) ? parsed["output"]["message"] : undefined
  const content = isRecord(message) ? message["content"] : undefined
  if (!Array.isArray(content)) return { kind: "unusable", received: "JSON without a message" }
  return finishConverse({
    blocks: content.flatMap((block, index) => completeBlock(block, index)),
    stop: stringField(parsed, "stopReason") ?? "end_turn",
    usage: readUsage(parsed["usage"]),
    frames: 1,
    error: undefined,
  })
}

function completeBlock(block: unknown, index: number): readonly Block[] {
  if (!isRecord(block)) return []
  const text = stringField(block, "text") ?? ""
  if (text !== "") return [{ kind: "text", index, text }]
  const { toolUse, reasoningContent } = block
  if (isRecord(toolUse)) {
    const name = stringField(toolUse, "name") ?? ""
    const args = JSON.stringify(toolUse["input"] ?? {})
    return [{ kind: "call", index, id: stringField(toolUse, "toolUseId") ?? "", name, args, complete: true }]
  }
  if (!isRecord(reasoningContent)) return []
  const reasoningText = reasoningContent["reasoningText"]
  return [
    {
      kind: "reasoning",
      index,
      text: stringField(reasoningText, "text") ?? "",
      signature: stringField(reasoningText, "signature") ?? "",
      redacted: stringField(reasoningContent, "redactedContent") ?? "",
    },
  ]
}

/** `inputTokens` does not include cached tokens, like `Usage.input`. */
function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  return {
    input: tokenCount(value["inputTokens"]),
    output: tokenCount(value["outputTokens"]),
    cacheRead: tokenCount(value["cacheReadInputTokens"]),
    cacheWrite: tokenCount(value["cacheWriteInputTokens"]),
    reasoning: 0,
  }
}
