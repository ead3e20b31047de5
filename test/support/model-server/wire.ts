import type { FinishReason } from "../../../src/protocol/message.ts"
import type { Usage } from "../../../src/protocol/usage.ts"
import type { RequestView } from "./recorded-request.ts"
import type { StreamError } from "./turn.ts"

export type WireName = "chat-completions" | "responses" | "anthropic-messages" | "bedrock-converse" | "gemini"

/** One vendor format: turns a wire-independent answer into that vendor's bytes, and reads that vendor's requests. */
export interface Wire {
  readonly name: WireName
  /** Undefined when the path belongs to another wire. */
  match(path: string): PathMatch | undefined
  /** The content type of a stream. */
  streamType(match: PathMatch): string
  readonly requestIdHeader: string
  wantsStream(body: unknown, match: PathMatch): boolean
  stream(answer: Answer): readonly Frame[]
  complete(answer: Answer): unknown
  /** The vendor's error body and headers for a failed request. */
  failure(
    status: number,
    message: string,
  ): { readonly body: unknown; readonly headers: Readonly<Record<string, string>> }
  /** The same frame, damaged so that a correct client must notice. */
  corrupt(frame: Frame): Frame
  view(body: unknown, match: PathMatch): RequestView
}

export interface PathMatch {
  /** Set by the wires that name the model in the path. */
  readonly model?: string
  /** Set by the wires that ask for a stream in the path. */
  readonly stream?: boolean
  /** Gemini without `alt=sse` streams one JSON array. */
  readonly jsonArray?: boolean
}

export interface Frame {
  readonly bytes: string | Uint8Array
  /** Whether it carries text, reasoning or arguments: `stallsAfter` and `corrupt` count these. */
  readonly delta: boolean
}

/** A scripted reply with all defaults filled in. `serial` counts the replies of this server from 1. */
export interface Answer {
  readonly serial: number
  readonly model: string
  readonly body: unknown
  readonly match: PathMatch
  /** The content in the order it is sent. */
  readonly blocks: readonly Block[]
  readonly usage: Usage | null
  readonly finish: FinishReason
  readonly streamError: StreamError | null
}

export type Block =
  | { readonly kind: "reasoning"; readonly deltas: readonly string[]; readonly signature: string }
  | { readonly kind: "redacted"; readonly data: string }
  | { readonly kind: "text"; readonly deltas: readonly string[] }
  | { readonly kind: "refusal"; readonly text: string }
  | { readonly kind: "call"; readonly call: AnswerCall }

export interface AnswerCall {
  /** Counts the calls of this server from 1; ids that the script leaves open are made from it. */
  readonly serial: number
  readonly id: string | undefined
  readonly name: string
  /** The seal that Gemini puts on a call instead of on the reasoning before it. */
  readonly signature: string | undefined
  /** The arguments text in the deltas it is sent in; joined they are `json`. */
  readonly fragments: readonly string[]
  readonly json: string
}

/** 2025-06-15: vendors stamp their answers, tests want equal bytes on every run. */
export const CREATED = 1_750_000_000

export function dataFrame(json: string, delta: boolean): Frame {
  return { bytes: `data: ${json}\n\n`, delta }
}

export function eventFrame(event: string, json: string, delta: boolean): Frame {
  return { bytes: `event: ${event}\ndata: ${json}\n\n`, delta }
}

/** Drops the closing brace of the frame's JSON. */
export function corruptServerSentEvent(frame: Frame): Frame {
  return { ...frame, bytes: String(frame.bytes).replace(/\}(\s*)$/, "$1") }
}

/** Arguments as the JSON value the non-text wires want; text that is no JSON cannot travel there and becomes `{}`. */
export function inputValue(call: AnswerCall): unknown {
  try {
    return JSON.parse(call.json)
  } catch {
    return {}
  }
}

/** Without the query: some endpoints (Azure) add one to every request. */
export function pathOnly(path: string): string {
  const query = path.indexOf("?")
  return query === -1 ? path : path.slice(0, query)
}

/** All text of one kind, for the wires that have one field for it. */
export function joinedText(answer: Answer, kind: "text" | "reasoning"): string {
  return answer.blocks.flatMap((block) => (block.kind === kind ? block.deltas : [])).join("")
}

export function callsOf(answer: Answer): readonly AnswerCall[] {
  return answer.blocks.flatMap((block) => (block.kind === "call" ? [block.call] : []))
}
