import type { Result } from "../base/result.ts"
import type { Credential, CredentialSource } from "./credential.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"
import type { HttpConnection } from "./http/http-connection.ts"
import type { RequestBody } from "./http/request-body.ts"
import type { RequestTimeouts } from "./http/request-timeouts.ts"
import type { ModelClient, ModelEvent, ModelRequest, ModelRuntime } from "./model.ts"
import type { Frame } from "./http/sse.ts"
import { createBodyEncoder } from "./wire/body-encoder.ts"
import type { DecodeResult, Wire } from "./wire/wire.ts"

/** A model at one endpoint, with its wire and credentials. Key, address and model of a request always come from the same route. */
export interface Route {
  readonly runtime: ModelRuntime
  readonly codec: WireCodec
  readonly credentials: CredentialSource
  /** Headers of every request, without credentials. */
  readonly headers: Readonly<Record<string, string>>
  /** Timeouts for a request of about this many tokens; longer requests get more time. */
  timeouts(approxTokens: number): RequestTimeouts
  /** Returns the connection for a credential: to the endpoint it was issued for, else to that of the runtime. */
  connectionFor(credential: Credential | undefined): HttpConnection
  /** Returns the authentication headers. AWS signs path and body. */
  authorise(credential: Credential | undefined, request: RequestToAuthorise): Promise<AuthorisationHeaders>
  /** Returns a route to the same endpoint without a feature that it just refused; undefined when the failure names none. */
  withoutRefusedFeature(failure: LlmFailure): Promise<Route | undefined>
  /** Returns the same route with another context window. */
  withWindow(tokens: number): Promise<Route>
  /** Requests the real context window when the one in `runtime` is an estimate; undefined when no source knows it. */
  requestContextWindow(signal: AbortSignal): Promise<number | undefined>
  /** The context window was derived from the model's name alone. */
  readonly windowIsGuess?: boolean
  /** See `ModelClient.ollamaWindow`. */
  ollamaWindow?: NonNullable<ModelClient["ollamaWindow"]>
  /** Caches a context window that the server reported, for later sessions. */
  rememberWindow(tokens: number): void
  /** The account's rate limit, shared by all processes of this home; absent when the provider has no shared limit. */
  readonly guard?: RateLimitGuard
  /** Resolves when the configured delay between two requests is over, and on abort. */
  waitForSlot?(signal: AbortSignal): Promise<void>
  /** The last rate limits that the server reported. */
  readonly rateLimits?: () => RateLimits
  noteRateLimits?(limits: RateLimits): void
  /** Converts the images of a request for this model; see `src/llm/vision/prepare-images.ts`. */
  prepare?(
    request: ModelRequest,
    signal: AbortSignal,
  ): Promise<{ readonly request: ModelRequest; readonly notice?: string }>
  /** The server refused the images of this request. Returns true when `prepare` describes images in words from now on. */
  describeImages?(request: ModelRequest): Promise<boolean>
  /** The server refused an image as too large. Returns true when `prepare` makes images smaller from now on. */
  lowerImageLimit?(limit: NonNullable<LlmFailure["imageLimit"]>): Promise<boolean>
  /** Closes open connections, so that the next request uses a new one. Absent when a new connection would not help. */
  reconnect?(): void
  close(): void
}

/** Records a used-up rate limit for all processes of a home, so that they do not each send a request that fails. */
export interface RateLimitGuard {
  /** Epoch seconds; undefined when no limit is used up. */
  blockedUntil(): number | undefined
  record(seconds: number): void
  clear(): void
}

/** Authentication headers, or a message about the missing credential. */
export type AuthorisationHeaders = Result<Readonly<Record<string, string>>>

export interface RequestToAuthorise {
  readonly path: string
  readonly body: string | RequestBody
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** A wire with its state type hidden, so that one client works with every wire. */
export interface WireCodec {
  readonly framing: "sse" | "aws-event-stream"
  readonly textOnlyToolResults?: boolean
  echoesReasoning?(model: string): boolean
  path(request: ModelRequest): string
  headers(request: ModelRequest): Readonly<Record<string, string>>
  encode(request: ModelRequest): RequestBody
  decoder(): Decoder
  decodeComplete(body: string): DecodeResult
}

export interface Decoder {
  /** Undefined for a damaged frame, which does not change the state; the caller stops reading there. */
  take(frame: Frame): readonly ModelEvent[] | undefined
  finish(how: { readonly ended: boolean }): DecodeResult
}

export function createWireCodec<State>(wire: Wire<State>): WireCodec {
  const encodeBody = createBodyEncoder()
  return {
    framing: wire.framing,
    textOnlyToolResults: wire.textOnlyToolResults === true,
    echoesReasoning: (model) => wire.echoesReasoning?.(model) ?? true,
    path: (request) => wire.path(request),
    headers: (request) => wire.headers(request),
    encode: (request) => encodeBody(wire.encode(request)),
    decodeComplete: (body) => wire.decodeComplete(body),
    decoder: () => {
      let state = wire.start()
      return {
        take: (frame) => {
          const step = wire.decode(state, frame)
          if (step === undefined) return undefined
          const [next, events] = step
          state = next
          return events
        },
        finish: (how) => wire.finish(state, how),
      }
    },
  }
}
