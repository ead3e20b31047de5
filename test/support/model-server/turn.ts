import type { Usage } from "../../../src/protocol/usage.ts"
import type { FinishReason } from "../../../src/protocol/message.ts"
import type { RecordedRequest } from "./recorded-request.ts"

/**
 * What the model answers to one request, in words that belong to no vendor: the wire of the request decides the bytes.
 * Every turn is plain data, so a script file can hold it; only `waitsFor`, `until` and functions need code.
 */
export type Turn = ReplyTurn | StatusTurn | RawTurn | EmptyTurn | HangUpTurn

export interface ReplyTurn extends Delivery {
  readonly kind: "reply"
  /** A list is sent as exactly these deltas; a string is cut into deltas by the server. */
  readonly text?: string | readonly string[]
  readonly reasoning?: string | readonly string[]
  /** The vendor's seal on the reasoning (Anthropic signature, Responses encrypted content, Gemini thought signature). */
  readonly signature?: string
  readonly calls?: readonly ScriptedCall[]
  /** Content in an order of its own, sent after the fields above: interleaved thinking, text after a call. */
  readonly blocks?: readonly ScriptedBlock[]
  /** Sent instead of text by the wires that know refusals; as plain text by the others. */
  readonly refusal?: string
  /** Null leaves the usage out, as some servers do. */
  readonly usage?: Partial<Usage> | null
  /** "incomplete" has a word on Responses and Anthropic only; the other wires send their word for "length". */
  readonly finish?: FinishReason
  /** Ends the stream with the vendor's error frame after the content, instead of its normal end. */
  readonly streamError?: StreamError
}

export type ScriptedBlock =
  | { readonly reasoning: string | readonly string[]; readonly signature?: string }
  /** Reasoning that the vendor hides: opaque data only. */
  | { readonly redacted: string }
  | { readonly text: string | readonly string[] }
  | { readonly call: ScriptedCall }

export interface ScriptedCall {
  readonly name: string
  /** A string goes out as the arguments text as it is, valid JSON or not; a list as exactly these deltas. */
  readonly input: unknown
  readonly id?: string
  readonly inputDeltas?: readonly string[]
}

export interface StreamError {
  readonly type: string
  readonly message: string
}

/** An HTTP answer that is not a model reply. Without a body the vendor's own error shape is used. */
export interface StatusTurn extends Delivery {
  readonly kind: "status"
  readonly status: number
  readonly body?: unknown
  readonly message?: string
}

/** Bytes as recorded from a vendor. */
export interface RawTurn extends Delivery {
  readonly kind: "raw"
  readonly bytes: string | Uint8Array
}

/** A stream that opens and ends without one frame. */
export interface EmptyTurn extends Delivery {
  readonly kind: "empty"
}

/** The connection is closed without any answer. */
export interface HangUpTurn extends Delivery {
  readonly kind: "hang-up"
}

/** How an answer travels, faults included. Byte counts are of the response body, before transfer encoding. */
export interface Delivery {
  readonly headers?: Readonly<Record<string, string>>
  /** Nothing is sent, not even headers, before this settles. */
  readonly waitsFor?: Promise<unknown>
  readonly stallsAfter?: StallPoint
  readonly cutsAfter?: number
  readonly chunkBytes?: number
  readonly chunkDelayMs?: number
  /** The delta (counted from 0) whose frame is damaged; a reply that is not streamed is damaged as a whole. */
  readonly corruptDelta?: number
}

/** The socket stays open in silence at that point until `until` settles, the client leaves or the server closes. */
export type StallPoint = ({ readonly bytes: number } | { readonly deltas: number }) & {
  readonly until?: Promise<unknown>
}

export type TurnMaker = (request: RecordedRequest) => Turn | Promise<Turn>

export interface RepeatedTurn {
  readonly kind: "repeat"
  readonly turn: Turn | TurnMaker
}

export type ScriptEntry = Turn | TurnMaker | RepeatedTurn

type ReplyOptions = Omit<ReplyTurn, "kind">

export function reply(answer: ReplyOptions, ...delivery: readonly Delivery[]): ReplyTurn {
  return { kind: "reply", ...answer, ...merged(delivery) }
}

export function says(text: string | readonly string[], ...options: readonly ReplyOptions[]): ReplyTurn {
  return { kind: "reply", text, ...merged(options) }
}

export function callsTool(
  name: string,
  input: unknown,
  ...options: readonly (Delivery & { readonly id?: string })[]
): ReplyTurn {
  const { id, ...delivery } = merged(options)
  return { kind: "reply", calls: [{ name, input, ...(id === undefined ? {} : { id }) }], ...delivery }
}

/** A reply of `count` deltas with the same text each. */
export function deltas(count: number, text: string, ...options: readonly ReplyOptions[]): ReplyTurn {
  return { kind: "reply", text: Array.from({ length: count }, () => text), ...merged(options) }
}

/** An HTTP answer with exactly this body: an object as JSON, a string as it is. */
export function status(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): StatusTurn {
  return { kind: "status", status: code, body, headers }
}

/** The same failure in the error shape of whichever vendor was asked. */
export function refuses(code: number, message: string, headers: Readonly<Record<string, string>> = {}): StatusTurn {
  return { kind: "status", status: code, message, headers }
}

/** What a proxy in front of the vendor answers. */
export function htmlError(code: number, title: string): StatusTurn {
  const page = `<!DOCTYPE html>\n<html><head><title>${code} ${title}</title></head><body><h1>${title}</h1></body></html>\n`
  return { kind: "status", status: code, body: page, headers: { "content-type": "text/html; charset=utf-8" } }
}

export function raw(bytes: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): RawTurn {
  return { kind: "raw", bytes, headers }
}

export function emptyStream(): EmptyTurn {
  return { kind: "empty" }
}

export function hangsUp(): HangUpTurn {
  return { kind: "hang-up" }
}

/** Answers this request and every further one. */
export function repeat(turn: Turn | TurnMaker): RepeatedTurn {
  return { kind: "repeat", turn }
}

export function stallsAfter(point: { readonly bytes: number } | { readonly deltas: number }, until?: Promise<unknown>) {
  return { stallsAfter: { ...point, ...(until === undefined ? {} : { until }) } } satisfies Delivery
}

export function cutsAfter(bytes: number) {
  return { cutsAfter: bytes } satisfies Delivery
}

export function chunkBytes(size: number, options: { readonly delayMs?: number } = {}) {
  return { chunkBytes: size, chunkDelayMs: options.delayMs ?? 0 } satisfies Delivery
}

export function corrupt(delta = 0) {
  return { corruptDelta: delta } satisfies Delivery
}

export function withHeaders(headers: Readonly<Record<string, string>>) {
  return { headers } satisfies Delivery
}

export function waitsFor(moment: Promise<unknown>) {
  return { waitsFor: moment } satisfies Delivery
}

export function failsInStream(type: string, message: string) {
  return { streamError: { type, message } }
}

function merged<T extends object>(options: readonly T[]): T {
  return Object.assign({}, ...options) as T
}
