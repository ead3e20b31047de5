import type { ModelEvent, ModelReply, ModelRequest } from "../model.ts"
import type { Frame } from "../http/sse.ts"

/**
 * A wire is pure: what to send, and what the frames that come back mean. HTTP, retry and credentials are shared and live
 * outside it.
 */
export interface Wire<State> {
  /** How the answer is framed when it streams. */
  readonly framing: "sse" | "aws-event-stream"
  /** The result of a tool may only be text here; its images have to go elsewhere. */
  readonly textResults?: boolean
  /** Whether this place wants the text of a reply's reasoning back; absent where the wire has no such text. */
  echoesReasoning?(model: string): boolean
  /** Path and query below the endpoint's base URL. */
  path(request: ModelRequest): string
  /** Headers this wire always sends, without credentials. */
  headers(request: ModelRequest): Readonly<Record<string, string>>
  /** The body as text. The messages come last, so that an earlier request of a session is a byte prefix of a later one. */
  encode(request: ModelRequest): string
  start(): State
  decode(state: State, frame: Frame): readonly [State, readonly ModelEvent[]]
  /** The reply, once no more frames come. `ended` is false when the connection was lost. */
  finish(state: State, how: { readonly ended: boolean }): Finished
  /** A reply that came as one JSON document instead of a stream. */
  decodeWhole(body: string): Finished
}

/** What a wire needs to know about the place it speaks to. Hosts are compared exactly or as sub-domain, never by substring. */
export interface WirePlace {
  readonly provider: string
  readonly baseUrl: string
  /** Lower case, without port. */
  readonly host: string
  readonly contextLength: number
}

export type Finished =
  | { readonly kind: "reply"; readonly reply: ModelReply }
  /** Nothing usable arrived: the request may be repeated, nobody has seen anything of it. `foreign`: no model server says such things. */
  | { readonly kind: "nothing"; readonly why: string; readonly foreign?: true }
  /** The server reported an error inside the stream. */
  | { readonly kind: "error"; readonly body: string }
