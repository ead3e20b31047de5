import { NO_USAGE } from "../../../src/protocol/usage.ts"
import type { ReplyTurn, ScriptedBlock, ScriptedCall } from "./turn.ts"
import type { ResolvedReply, ResolvedCall, ResolvedBlock, PathMatch } from "./wire.ts"

export interface ReplyContext {
  readonly serial: number
  readonly firstCallSerial: number
  readonly model: string
  readonly body: unknown
  readonly match: PathMatch
}

/** Fills in the defaults of a scripted reply. They are the same in every run. */
export function resolveReply(turn: ReplyTurn, context: ReplyContext): ResolvedReply {
  const blocks = resolveBlocks(turn, context)
  const hasCall = blocks.some((block) => block.kind === "call")
  return {
    serial: context.serial,
    model: context.model,
    body: context.body,
    match: context.match,
    blocks,
    usage: turn.usage === null ? null : { ...NO_USAGE, input: 10, output: 5, ...turn.usage },
    finish: turn.finish ?? (hasCall ? "tool_calls" : turn.refusal === undefined ? "stop" : "content_filter"),
    streamError: turn.streamError ?? null,
  }
}

function resolveBlocks(turn: ReplyTurn, context: ReplyContext): readonly ResolvedBlock[] {
  const scripted: ScriptedBlock[] = []
  if (turn.reasoning !== undefined) scripted.push({ reasoning: turn.reasoning })
  if (turn.text !== undefined && turn.text.length > 0) scripted.push({ text: turn.text })
  for (const call of turn.calls ?? []) scripted.push({ call })
  scripted.push(...(turn.blocks ?? []))
  const defaultSignature = turn.signature ?? `signature-${context.serial}`
  let serial = context.firstCallSerial
  let unclaimedSignature = turn.signature
  const blocks: ResolvedBlock[] = turn.refusal === undefined ? [] : [{ kind: "refusal", text: turn.refusal }]
  for (const block of scripted) {
    if ("reasoning" in block) {
      unclaimedSignature = block.signature ?? defaultSignature
      blocks.push({ kind: "reasoning", deltas: fragments(block.reasoning), signature: unclaimedSignature })
    } else if ("redacted" in block) blocks.push({ kind: "redacted", data: block.redacted })
    else if ("text" in block) blocks.push({ kind: "text", deltas: fragments(block.text) })
    else {
      blocks.push({ kind: "call", call: resolveCall(block.call, serial, unclaimedSignature) })
      unclaimedSignature = undefined
      serial += 1
    }
  }
  return blocks
}

function resolveCall(call: ScriptedCall, serial: number, signature: string | undefined): ResolvedCall {
  const json = call.inputDeltas?.join("") ?? (typeof call.input === "string" ? call.input : JSON.stringify(call.input))
  return { serial, id: call.id, name: call.name, signature, json, fragments: call.inputDeltas ?? fragments(json) }
}

const MIN_FRAGMENT_LENGTH = 8
const MAX_FRAGMENTS = 64

/** Splits text into at most 64 token-sized fragments without splitting a surrogate pair. A list is used as it is. */
function fragments(text: string | readonly string[]): readonly string[] {
  if (typeof text !== "string") return text
  const size = Math.max(MIN_FRAGMENT_LENGTH, Math.ceil(text.length / MAX_FRAGMENTS))
  const pieces: string[] = []
  let start = 0
  while (start < text.length) {
    let end = Math.min(start + size, text.length)
    if (isHighSurrogate(text.charCodeAt(end - 1)) && end < text.length) end += 1
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd8_00 && unit <= 0xdb_ff
}
