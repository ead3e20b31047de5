import type { Message } from "../../protocol/message.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "../model.ts"
import type { Frame } from "../http/sse.ts"

/**
 * A wire format as pure functions: they encode a request and decode the frames of the response. HTTP, retries and
 * credentials are shared by all formats and live outside.
 */
export interface Wire<State> {
  /** The framing of a streamed response. */
  readonly framing: "sse" | "aws-event-stream"
  /** Tool results may only contain text; their images must be sent in another message. */
  readonly textOnlyToolResults?: boolean
  /** Whether the endpoint requires the reasoning text of earlier replies; absent in formats without such text. */
  echoesReasoning?(model: string): boolean
  /** Path and query below the endpoint's base URL. */
  path(request: ModelRequest): string
  /** Headers of this format, without credentials. */
  headers(request: ModelRequest): Readonly<Record<string, string>>
  /** The JSON body. The messages come last, so that each request of a session is a byte prefix of the next one. */
  encode(request: ModelRequest): EncodedRequest
  start(): State
  /** Undefined for a damaged frame, one that is not a JSON object: the stream ends before it. */
  decode(state: State, frame: Frame): readonly [State, readonly ModelEvent[]] | undefined
  /** Returns the reply after the last frame. `ended` is false when the connection was lost or a frame was damaged. */
  finish(state: State, connection: { readonly ended: boolean }): DecodeResult
  /** Decodes a response that is one JSON document instead of a stream. */
  decodeComplete(body: string): DecodeResult
}

/** A JSON body: `head`, the elements of the list of messages, and `]}`. `src/llm/wire/body-encoder.ts` turns it into bytes. */
export interface EncodedRequest {
  /** Everything up to and including the opening bracket of the list. */
  readonly head: string
  /** The elements before the first message, separated by commas; often empty. */
  readonly preface: string
  readonly history: HistoryEncoding
}

/** How a request encodes its messages, round by round (`src/llm/wire/rounds.ts`). */
export interface HistoryEncoding {
  readonly messages: readonly Message[]
  /** With equal formats, equal rounds have equal bytes. */
  readonly format: string
  /** Rounds that end after this index may be encoded differently in the next request, because they have cache markers. */
  readonly settled: number
  /** Distinguishes encodings of the same round that depend on later messages. Absent when there is only one. */
  variant?(from: number, to: number): number
  /** The elements of the round between two indexes, separated by commas. */
  encode(from: number, to: number): string
}

/** What a wire knows about the endpoint it sends to. Compare hosts exactly or as a subdomain, never by substring. */
export interface WireEndpoint {
  readonly provider: string
  readonly baseUrl: string
  /** Lower case, without port. */
  readonly host: string
  readonly contextLength: number
}

export type DecodeResult =
  /** A call without an id from the server has an empty one; `src/llm/call-ids.ts` replaces it. */
  | { readonly kind: "reply"; readonly reply: ModelReply }
  /**
   * Nothing usable arrived and nothing was shown to the user, so the request may be repeated. `received` completes the
   * sentence "the server answered with …". `notModelServer`: no model server sends such a response.
   */
  | { readonly kind: "unusable"; readonly received: string; readonly notModelServer?: true }
  /** The server reported an error in the body or inside the stream. */
  | { readonly kind: "error"; readonly body: string }
