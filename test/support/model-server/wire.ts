import type { FinishReason } from "../../../src/protocol/message.ts"
import type { Usage } from "../../../src/protocol/usage.ts"
import type { RequestView } from "./recorded-request.ts"
import type { StreamError } from "./turn.ts"

export type WireName = "chat-completions" | "responses" | "anthropic-messages" | "bedrock-converse" | "gemini"

/** The wire format of one vendor: encodes replies and reads requests. */
export interface Wire {
  readonly name: WireName
  /** Undefined when the path belongs to another wire format. */
  match(path: string): PathMatch | undefined
  /** The content type of a stream. */
  streamType(match: PathMatch): string
  readonly requestIdHeader: string
  wantsStream(body: unknown, match: PathMatch): boolean
  /** The message with which the vendor rejects the request (status 400); undefined for an acceptable one. */
  rejection?(body: unknown, match: PathMatch): string | undefined
  /** Encodes a streamed reply. */
  stream(reply: ResolvedReply): readonly Frame[]
  /** Encodes a reply that is not streamed. */
  complete(reply: ResolvedReply): unknown
  /** The vendor's error body and headers for a failed request. */
  failure(
    status: number,
    message: string,
  ): { readonly body: unknown; readonly headers: Readonly<Record<string, string>> }
  /** Damages a frame so that a correct client must detect it. */
  corrupt(frame: Frame): Frame
  view(body: unknown, match: PathMatch): RequestView
}

export interface PathMatch {
  /** Set when the path contains the model. */
  readonly model?: string
  /** Set when the path requests a stream. */
  readonly stream?: boolean
  /** Gemini without `alt=sse` streams one JSON array. */
  readonly jsonArray?: boolean
}

export interface Frame {
  readonly bytes: string | Uint8Array
  /** Whether it contains text, reasoning or arguments. `stallsAfter` and `corrupt` count these frames. */
  readonly delta: boolean
}

/** A scripted reply with all defaults filled in. */
export interface ResolvedReply {
  /** Counts the replies of this server from 1. */
  readonly serial: number
  readonly model: string
  readonly body: unknown
  readonly match: PathMatch
  /** The content in the order in which it is sent. */
  readonly blocks: readonly ResolvedBlock[]
  readonly usage: Usage | null
  readonly finish: FinishReason
  readonly streamError: StreamError | null
}

export type ResolvedBlock =
  | { readonly kind: "reasoning"; readonly deltas: readonly string[]; readonly signature: string }
  | { readonly kind: "redacted"; readonly data: string }
  | { readonly kind: "text"; readonly deltas: readonly string[] }
  | { readonly kind: "refusal"; readonly text: string }
  | { readonly kind: "call"; readonly call: ResolvedCall }

export interface ResolvedCall {
  /** Counts the calls of this server from 1. Calls without a scripted id get one derived from it. */
  readonly serial: number
  readonly id: string | undefined
  readonly name: string
  /** Gemini signs the call instead of the reasoning before it. */
  readonly signature: string | undefined
  /** The deltas of the arguments. Joined, they are `json`. */
  readonly fragments: readonly string[]
  readonly json: string
}

/** 2025-06-15. Replies contain a fixed time, so that their bytes are the same in every run. */
export const CREATED = 1_750_000_000

export function dataFrame(json: string, delta: boolean): Frame {
  return { bytes: `data: ${json}\n\n`, delta }
}

export function eventFrame(event: string, json: string, delta: boolean): Frame {
  return { bytes: `event: ${event}\ndata: ${json}\n\n`, delta }
}

/** Removes the closing brace of the frame's JSON. */
export function corruptServerSentEvent(frame: Frame): Frame {
  return { ...frame, bytes: String(frame.bytes).replace(/\}(\s*)$/, "$1") }
}

/** The arguments as a JSON value, for the wire formats that do not send them as text. Invalid JSON becomes `{}`. */
export function inputValue(call: ResolvedCall): unknown {
  try {
    return JSON.parse(call.json)
  } catch {
    return {}
  }
}

/** Removes the query string. Azure endpoints add one to every request. */
export function pathOnly(path: string): string {
  const query = path.indexOf("?")
  return query === -1 ? path : path.slice(0, query)
}

/** All text of one kind, for the wire formats with a single field for it. */
export function joinedText(reply: ResolvedReply, kind: "text" | "reasoning"): string {
  return reply.blocks.flatMap((block) => (block.kind === kind ? block.deltas : [])).join("")
}

export function callsOf(reply: ResolvedReply): readonly ResolvedCall[] {
  return reply.blocks.flatMap((block) => (block.kind === "call" ? [block.call] : []))
}
