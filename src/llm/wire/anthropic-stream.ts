import { assertNever } from "../../base/assert-never.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import type { Usage } from "../../protocol/usage.ts"
import type { ModelEvent } from "../model.ts"
import type { Frame } from "../http/sse.ts"
import { tokenCount } from "./token-count.ts"

/** What has arrived of a reply. */
export interface AnthropicState {
  readonly blocks: readonly Arrived[]
  readonly stop: string | undefined
  readonly usage: Usage | undefined
  readonly frames: number
  /** The server said that nothing more comes. */
  readonly done: boolean
  readonly error: string | undefined
}

export type Arrived = TextBlock | ThinkingBlock | RedactedBlock | CallBlock | OtherBlock

interface Position {
  readonly index: number
  readonly closed: boolean
}

interface TextBlock extends Position {
  readonly kind: "text"
  readonly text: string
}

interface ThinkingBlock extends Position {
  readonly kind: "thinking"
  readonly text: string
  readonly signature: string
}

interface RedactedBlock extends Position {
  readonly kind: "redacted"
  readonly data: string
}

export interface CallBlock extends Position {
  readonly kind: "call"
  readonly id: string
  readonly name: string
  /** As it arrived in pieces. */
  readonly args: string
  /** As the block was opened with it; most servers send pieces only. */
  readonly input: string
}

/** Of a type we never ask for. */
interface OtherBlock extends Position {
  readonly kind: "other"
}

export const NOTHING_YET: AnthropicState = {
  blocks: [],
  stop: undefined,
  usage: undefined,
  frames: 0,
  done: false,
  error: undefined,
}

type Step = readonly [AnthropicState, readonly ModelEvent[]]

export function decodeFrame(state: AnthropicState, frame: Frame): Step {
  // After an error nothing more is shown, so that the request can be repeated.
  if (state.error !== undefined) return [state, []]
  if (frame.data.trim() === "") return [state, []]
  // Not of this wire, but gateways that translate from another one add it.
  if (frame.data === "[DONE]") return [{ ...state, done: true }, []]
  const data = parseJson(frame.data)
  if (!isRecord(data)) {
    return [{ ...state, error: `a frame that is not JSON: ${frame.data.slice(0, 120)}` }, []]
  }
  const next = { ...state, frames: state.frames + 1 }
  const index = typeof data["index"] === "number" ? data["index"] : 0
  switch (stringField(data, "type") ?? frame.event) {
    case "message_start": {
      const message = isRecord(data["message"]) ? data["message"] : {}
      return [{ ...next, usage: laterUsage(state.usage, message["usage"]) }, []]
    }
    case "content_block_start":
      return openBlock(next, index, data["content_block"])
    case "content_block_delta":
      return isRecord(data["delta"]) ? takeDelta(next, index, data["delta"]) : [next, []]
    case "content_block_stop":
      return [withBlock(next, index, (block) => ({ ...block, closed: true })), []]
    case "message_delta": {
      const stop = stringField(data["delta"], "stop_reason") ?? state.stop
      return [{ ...next, stop, usage: laterUsage(state.usage, data["usage"]) }, []]
    }
    case "message_stop":
      return [{ ...next, done: true }, []]
    case "error":
      return [{ ...next, error: errorBody(data) }, []]
    default:
      // `ping`, and events that do not exist yet: clients are asked to let them pass.
      return [state, []]
  }
}

/** A reply that came as one document, in the state its stream would have left. */
export function stateOfWhole(message: Readonly<Record<string, unknown>>, content: readonly unknown[]): AnthropicState {
  return {
    blocks: content.map((block, index) => ({ ...arrived(index, block), closed: true })),
    stop: stringField(message, "stop_reason"),
    usage: laterUsage(undefined, message["usage"]),
    frames: 1,
    done: true,
    error: undefined,
  }
}

function openBlock(state: AnthropicState, index: number, content: unknown): Step {
  const block = arrived(index, content)
  const next = { ...state, blocks: [...state.blocks, block] }
  switch (block.kind) {
    case "text":
    case "thinking":
      // Servers open with an empty block; where there is text already, it is shown like a first piece.
      return [next, shown(state, { ...block, text: "" }, block.text)]
    case "call":
      return [next, block.name === "" ? [] : [{ type: "tool-generating", tool: block.name }]]
    case "redacted":
    case "other":
      return [next, []]
    default:
      return assertNever(block)
  }
}

function arrived(index: number, content: unknown): Arrived {
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
      const written = isRecord(input) && Object.keys(input).length > 0 ? JSON.stringify(input) : ""
      return { ...open, kind: "call", id: field("id"), name: field("name"), args: "", input: written }
    }
    default:
      return { ...open, kind: "other" }
  }
}

function takeDelta(state: AnthropicState, index: number, delta: Readonly<Record<string, unknown>>): Step {
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
      return [withBlock(state, index, () => ({ ...block, signature: block.signature + field("signature") })), []]
    case "input_json_delta":
      if (block?.kind !== "call") return [state, []]
      return [withBlock(state, index, () => ({ ...block, args: block.args + field("partial_json") })), []]
    default:
      return [state, []]
  }
}

function append(state: AnthropicState, block: TextBlock | ThinkingBlock, piece: string): Step {
  const next = withBlock(state, block.index, () => ({ ...block, text: block.text + piece }))
  return [next, shown(state, block, piece)]
}

/** What is shown adds up to the text of the reply: the break between two blocks comes with the first piece of the second. */
function shown(state: AnthropicState, block: TextBlock | ThinkingBlock, piece: string): readonly ModelEvent[] {
  if (piece === "") return []
  const follows = block.text === "" && state.blocks.some((known) => known.kind === block.kind && known.text !== "")
  if (block.kind === "thinking") return [{ type: "reasoning-delta", text: follows ? `\n\n${piece}` : piece }]
  // Once a call was seen, further text belongs to the message but is no longer shown as the answer.
  if (state.blocks.some(({ kind }) => kind === "call")) return []
  return [{ type: "text-delta", text: follows ? `\n${piece}` : piece }]
}

function withBlock(state: AnthropicState, index: number, change: (block: Arrived) => Arrived): AnthropicState {
  const at = state.blocks.findLastIndex((known) => known.index === index)
  const block = state.blocks[at]
  return block === undefined ? state : { ...state, blocks: state.blocks.with(at, change(block)) }
}

/** Counts grow while a reply streams and are said more than once; a later zero takes nothing back. */
function laterUsage(known: Usage | undefined, value: unknown): Usage | undefined {
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

/** An error that comes with status 200 names its kind instead; the status it would have had is added as `code`. */
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
