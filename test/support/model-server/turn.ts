import type { Usage } from "../../../src/protocol/usage.ts"
import type { FinishReason } from "../../../src/protocol/message.ts"
import type { RecordedRequest } from "./recorded-request.ts"

/**
 * The response of the model to one request, independent of the vendor: the wire format of the request determines the bytes.
 * Every turn is plain data, so a script file can contain it. Only `waitsFor`, `until` and functions need code.
 */
export type Turn = ReplyTurn | StatusTurn | RawTurn | EmptyTurn | HangUpTurn

export interface ReplyTurn extends Delivery {
  readonly kind: "reply"
  /** A list is sent as exactly these deltas. The server splits a string into deltas. */
  readonly text?: string | readonly string[]
  readonly reasoning?: string | readonly string[]
  /** The vendor's signature of the reasoning (Anthropic signature, Responses encrypted content, Gemini thought signature). */
  readonly signature?: string
  readonly calls?: readonly ScriptedCall[]
  /** Content in any order, sent after the fields above: interleaved thinking, text after a call. */
  readonly blocks?: readonly ScriptedBlock[]
  /** Sent as a refusal by the wire formats that support refusals, and as text by the others. */
  readonly refusal?: string
  /** Null omits the usage, as some servers do. */
  readonly usage?: Partial<Usage> | null
  /** Only Responses and Anthropic have a value for "incomplete". The others send their value for "length". */
  readonly finish?: FinishReason
  /** Ends the stream with the vendor's error frame after the content. */
  readonly streamError?: StreamError
}

export type ScriptedBlock =
  | { readonly reasoning: string | readonly string[]; readonly signature?: string }
  /** Redacted reasoning: opaque data only. */
  | { readonly redacted: string }
  | { readonly text: string | readonly string[] }
  | { readonly call: ScriptedCall }

export interface ScriptedCall {
  readonly name: string
  /** A string is sent unchanged as the arguments, whether or not it is valid JSON. */
  readonly input: unknown
  readonly id?: string
  /** Sends the arguments as exactly these deltas. */
  readonly inputDeltas?: readonly string[]
}

export interface StreamError {
  readonly type: string
  readonly message: string
}

/** An HTTP response that is not a model reply. Without a body it has the vendor's error format. */
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

/** A stream without any frames. */
export interface EmptyTurn extends Delivery {
  readonly kind: "empty"
}

/** Closes the connection without a response. */
export interface HangUpTurn extends Delivery {
  readonly kind: "hang-up"
}

/** How to send a response, including faults. Byte counts refer to the body before transfer encoding. */
export interface Delivery {
  readonly headers?: Readonly<Record<string, string>>
  /** Sends nothing, not even headers, before this settles. */
  readonly waitsFor?: Promise<unknown>
  readonly stallsAfter?: StallPoint
  /** Closes the connection after so many bytes. */
  readonly cutsAfter?: number
  readonly chunkBytes?: number
  readonly chunkDelayMs?: number
  /** Damages the frame of this delta (counted from 0), or the whole reply when it is not streamed. */
  readonly corruptDelta?: number
}

/** At this point the server sends nothing until `until` settles, the client disconnects or the server closes. */
export type StallPoint = ({ readonly bytes: number } | { readonly deltas: number }) & {
  readonly until?: Promise<unknown>
}

export type TurnFunction = (request: RecordedRequest) => Turn | Promise<Turn>

export interface RepeatedTurn {
  readonly kind: "repeat"
  readonly turn: Turn | TurnFunction
}

export type ScriptEntry = Turn | TurnFunction | RepeatedTurn

type ReplyOptions = Omit<ReplyTurn, "kind">

export function reply(options: ReplyOptions, ...delivery: readonly Delivery[]): ReplyTurn {
  return { kind: "reply", ...options, ...merged(delivery) }
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

/** A reply of `count` deltas with the same text. */
export function deltas(count: number, text: string, ...options: readonly ReplyOptions[]): ReplyTurn {
  return { kind: "reply", text: Array.from({ length: count }, () => text), ...merged(options) }
}

/** An HTTP response with exactly this body: an object as JSON, a string unchanged. */
export function status(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): StatusTurn {
  return { kind: "status", status: code, body, headers }
}

/** An HTTP error in the vendor's error format. */
export function refuses(code: number, message: string, headers: Readonly<Record<string, string>> = {}): StatusTurn {
  return { kind: "status", status: code, message, headers }
}

/** An HTML error page, as a proxy in front of the vendor returns. */
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

/** Uses the turn for every remaining request. */
export function repeat(turn: Turn | TurnFunction): RepeatedTurn {
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

export function waitsFor(promise: Promise<unknown>) {
  return { waitsFor: promise } satisfies Delivery
}

export function failsInStream(type: string, message: string) {
  return { streamError: { type, message } }
}

function merged<T extends object>(options: readonly T[]): T {
  return Object.assign({}, ...options) as T
}
