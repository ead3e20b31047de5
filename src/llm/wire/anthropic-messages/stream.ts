import { assertNever } from "../../../base/assert-never.ts"
import { isRecord, parseJson, stringField } from "../../../base/json.ts"
import type { Usage } from "../../../protocol/usage.ts"
import type { ModelEvent } from "../../model.ts"
import type { Frame } from "../../http/sse.ts"
import { tokenCount } from "../token-count.ts"

/** The part of a reply received so far. */
export interface AnthropicState {
  readonly blocks: readonly ReceivedBlock[]
  readonly stop: string | undefined
  /** Why the model refused, from `stop_details`. */
  readonly refusal: string
  readonly usage: Usage | undefined
  readonly frames: number
  /** `message_start` has arrived. */
  readonly started: boolean
  /** `message_stop` has arrived. */
  readonly done: boolean
  readonly error: string | undefined
}

export type ReceivedBlock = TextBlock | ThinkingBlock | RedactedBlock | CallBlock | OtherBlock

interface BlockPosition {
  readonly index: number
  readonly closed: boolean
}

interface TextBlock extends BlockPosition {
  readonly kind: "text"
  readonly text: string
}

interface ThinkingBlock extends BlockPosition {
  readonly kind: "thinking"
  readonly text: string
  readonly signature: string
}

interface RedactedBlock extends BlockPosition {
  readonly kind: "redacted"
  readonly data: string
}

export interface CallBlock extends BlockPosition {
  readonly kind: "call"
  readonly id: string
  readonly name: string
  /** The concatenated `input_json_delta` pieces. */
  readonly args: string
  /** The input in `content_block_start`; most servers send only deltas. */
  readonly input: string
}

/** A block type that Hermes does not use. */
interface OtherBlock extends BlockPosition {
  readonly kind: "other"
}

export const INITIAL_STATE: AnthropicState = {
  blocks: [],
  stop: undefined,
  refusal: "",
  usage: undefined,
  frames: 0,
  started: false,
  done: false,
  error: undefined,
}

type Step = readonly [AnthropicState, readonly ModelEvent[]]

export function decodeFrame(state: AnthropicState, frame: Frame): Step | undefined {
  // Emit nothing after an error, so that the request can be repeated. After its end a message cannot change.
  if (state.error !== undefined || state.done) return [state, []]
  if (frame.data.trim() === "") return [state, []]
  // Not part of this format, but gateways that translate from Chat Completions add it.
  if (frame.data === "[DONE]") return [{ ...state, done: true }, []]
  const data = parseJson(frame.data)
  if (!isRecord(data)) return undefined
  const next = { ...state, frames: state.frames + 1 }
  const index = typeof data["index"] === "number" ? data["index"] : 0
  switch (stringField(data, "type") ?? frame.event) {
    case "message_start": {
      // A gateway that retries may splice a second reply into the stream; merging the two would make up an answer.
      if (state.started) return [{ ...next, error: "a second message in the stream of the first" }, []]
      return startMessage(next, isRecord(data["message"]) ? data["message"] : {})
    }
    case "content_block_start":
      return openBlock(next, index, data["content_block"])
    case "content_block_delta":
      return isRecord(data["delta"]) ? applyDelta(next, index, data["delta"]) : [next, []]
    case "content_block_stop":
      return [updateBlock(next, index, (block) => ({ ...block, closed: true })), []]
    case "message_delta": {
      const stop = stringField(data["delta"], "stop_reason") ?? state.stop
      const refusal = refusalIn(data["delta"]) || state.refusal
      return [{ ...next, stop, refusal, usage: mergeUsage(state.usage, data["usage"]) }, []]
    }
    case "message_stop":
      return [{ ...next, done: true }, []]
    case "error":
      return [{ ...next, error: errorBody(data) }, []]
    default:
      // `ping`, and future event types, which Anthropic's documentation tells clients to ignore.
      return [state, []]
  }
}

/** Usually the message is empty here, but some servers send it with content, or even complete. */
function startMessage(state: AnthropicState, message: Readonly<Record<string, unknown>>): Step {
  const content: readonly unknown[] = Array.isArray(message["content"]) ? message["content"] : []
  let started: AnthropicState = {
    ...state,
    started: true,
    stop: stringField(message, "stop_reason"),
    refusal: refusalIn(message),
    usage: mergeUsage(state.usage, message["usage"]),
  }
  const events: ModelEvent[] = []
  for (const [index, block] of content.entries()) {
    const [opened, shown] = openBlock(started, index, block)
    started = updateBlock(opened, index, (known) => ({ ...known, closed: true }))
    events.push(...shown)
  }
  return [started, events]
}

function refusalIn(value: unknown): string {
  return (isRecord(value) && stringField(value["stop_details"], "explanation")) || ""
}

/** The state that the stream of a complete message would have produced. */
export function stateOfCompleteMessage(
  message: Readonly<Record<string, unknown>>,
  content: readonly unknown[],
): AnthropicState {
  return {
    blocks: content.map((block, index) => ({ ...newBlock(index, block), closed: true })),
    stop: stringField(message, "stop_reason"),
    refusal: refusalIn(message),
    usage: mergeUsage(undefined, message["usage"]),
    frames: 1,
    started: true,
    done: true,
    error: undefined,
  }
}

function openBlock(state: AnthropicState, index: number, content: unknown): Step {
  const block = newBlock(index, content)
  const next = { ...state, blocks: [...state.blocks, block] }
  switch (block.kind) {
    case "text":
    case "thinking":
      // Usually empty; text that is already here is emitted like the first delta.
      return [next, displayEvents(state, { ...block, text: "" }, block.text)]
    case "call":
      return [next, block.name === "" ? [] : [{ type: "tool-generating", tool: block.name }]]
    case "redacted":
    case "other":
      return [next, []]
    default:
      return assertNever(block)
  }
}

function newBlock(index: number, content: unknown): ReceivedBlock {
  const open = { index, closed: false }
  const field = (key: string): string => stringField(content, key) ?? ""
  switch (field("type")) {
    case "text":
      return { ...open, kind: "text", text: field("text") }
    case "thinking":
      return { ...open, kind: "thinking", text: field("thinking"), signature: field("signature") }
    case "redacted_thinking":
      return { ...open, kind: "redacted", data: field("data") }
    case "tool_use": {
      const input = isRecord(content) ? content["input"] : undefined
      const initialInput = isRecord(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : ""
      return { ...open, kind: "call", id: field("id"), name: field("name"), args: "", input: initialInput }
    }
    default:
      return { ...open, kind: "other" }
  }
}

function applyDelta(state: AnthropicState, index: number, delta: Readonly<Record<string, unknown>>): Step {
  const block = state.blocks.findLast((known) => known.index === index)
  const field = (key: string): string => stringField(delta, key) ?? ""
  switch (field("type")) {
    case "text_delta":
      if (block === undefined) return openBlock(state, index, { type: "text", text: field("text") })
      return block.kind === "text" ? append(state, block, field("text")) : [state, []]
    case "thinking_delta":
      if (block === undefined) return openBlock(state, index, { type: "thinking", thinking: field("thinking") })
      return block.kind === "thinking" ? append(state, block, field("thinking")) : [state, []]
    case "signature_delta":
      if (block?.kind !== "thinking") return [state, []]
      return [updateBlock(state, index, () => ({ ...block, signature: block.signature + field("signature") })), []]
    case "input_json_delta":
      if (block?.kind !== "call") return [state, []]
      return [updateBlock(state, index, () => ({ ...block, args: block.args + field("partial_json") })), []]
    default:
      return [state, []]
  }
}

function append(state: AnthropicState, block: TextBlock | ThinkingBlock, piece: string): Step {
  const next = updateBlock(state, block.index, () => ({ ...block, text: block.text + piece }))
  return [next, displayEvents(state, block, piece)]
}

/**
 * The emitted pieces concatenate to the text of the reply: the first piece of a later block starts with the separator.
 */
function displayEvents(state: AnthropicState, block: TextBlock | ThinkingBlock, piece: string): readonly ModelEvent[] {
  if (piece === "") return []
  const needsSeparator =
    block.text === "" && state.blocks.some((known) => known.kind === block.kind && known.text !== "")
  if (block.kind === "thinking") return [{ type: "reasoning-delta", text: needsSeparator ? `\n\n${piece}` : piece }]
  // Text after a tool call belongs to the message but is not displayed as the answer.
  if (state.blocks.some(({ kind }) => kind === "call")) return []
  return [{ type: "text-delta", text: needsSeparator ? `\n${piece}` : piece }]
}

function updateBlock(
  state: AnthropicState,
  index: number,
  change: (block: ReceivedBlock) => ReceivedBlock,
): AnthropicState {
  const position = state.blocks.findLastIndex((known) => known.index === index)
  const block = state.blocks[position]
  return block === undefined ? state : { ...state, blocks: state.blocks.with(position, change(block)) }
}

/** Servers report growing counts several times per stream; a later zero does not overwrite a known count. */
function mergeUsage(known: Usage | undefined, value: unknown): Usage | undefined {
  if (!isRecord(value)) return known
  const details = isRecord(value["output_tokens_details"]) ? value["output_tokens_details"] : {}
  return {
    input: tokenCount(value["input_tokens"]) || (known?.input ?? 0),
    output: tokenCount(value["output_tokens"]) || (known?.output ?? 0),
    cacheRead: tokenCount(value["cache_read_input_tokens"]) || (known?.cacheRead ?? 0),
    cacheWrite: tokenCount(value["cache_creation_input_tokens"]) || (known?.cacheWrite ?? 0),
    reasoning: tokenCount(details["thinking_tokens"]) || (known?.reasoning ?? 0),
  }
}

/**
 * An error inside a response with status 200 has a type instead of a status; adds the corresponding status as `code`.
 */
export function errorBody(data: Readonly<Record<string, unknown>>): string {
  const error = isRecord(data["error"]) ? data["error"] : { message: stringField(data, "error") ?? "" }
  const known = ERROR_STATUS[stringField(error, "type") ?? ""]
  const code = known ?? (typeof error["code"] === "number" ? error["code"] : 500)
  return JSON.stringify({ ...data, error: { ...error, code } })
}

const ERROR_STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}
