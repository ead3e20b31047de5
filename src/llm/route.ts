import type { Result } from "../base/result.ts"
import type { Credential, CredentialSource } from "./credential.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"
import type { HttpConnection } from "./http/http.ts"
import type { RequestTimeouts } from "./http/request-timeouts.ts"
import type { ModelClient, ModelEvent, ModelRequest, ModelRuntime } from "./model.ts"
import type { Frame } from "./http/sse.ts"
import type { Finished, Wire } from "./wire/wire.ts"

/** One way to a model: where it is, how it is spoken to and who pays. Key, address and model never come from different routes. */
export interface Route {
  readonly runtime: ModelRuntime
  readonly codec: WireCodec
  readonly credentials: CredentialSource
  /** What every request carries, without credentials. */
  readonly headers: Readonly<Record<string, string>>
  /** For a request of about this many tokens: a longer one is thought about for longer. */
  timeouts(approxTokens: number): RequestTimeouts
  /** Where a credential is sent: to the address it was issued for, else to that of the runtime. */
  connectionFor(credential: Credential | undefined): HttpConnection
  /** The headers that prove who we are; a cloud that wants signatures signs path and body. */
  authorise(credential: Credential | undefined, request: SignedParts): Promise<Proof>
  /** Another way to speak to the same place, when a failure says that this one is not understood there. */
  alternative(failure: LlmFailure): Promise<Route | undefined>
  /** The same way to a model of which it became known how much it can read. */
  withWindow(tokens: number): Promise<Route>
  /** How much the model can read, from whoever knows better than the guess of the runtime; undefined when nobody does. */
  askWindow(signal: AbortSignal): Promise<number | undefined>
  /** The window comes from the model's name alone. */
  readonly windowIsGuess?: boolean
  /** What Ollama gives the model; see `ModelClient.servedWindow`. */
  servedWindow?: NonNullable<ModelClient["servedWindow"]>
  /** Keeps a window that the server named, for later sessions. */
  rememberWindow(tokens: number): void
  /** What all processes of this home know about a used-up limit of the account; absent where nobody shares it. */
  readonly guard?: RateLimitGuard
  /** Resolves when the next request may leave, where the settings want a time between two of them, and on abort. */
  takeTurn?(signal: AbortSignal): Promise<void>
  /** What the server last said about its limits. */
  readonly rateLimits?: () => RateLimits
  noteRateLimits?(limits: RateLimits): void
  /** The request as this model can take it: what `src/llm/vision/prepare-images.ts` makes of its images. */
  prepare?(
    request: ModelRequest,
    signal: AbortSignal,
  ): Promise<{ readonly request: ModelRequest; readonly notice?: string }>
  /** The server found an image too large. True when `prepare` makes images smaller from now on than it did before. */
  learnImageLimit?(limit: NonNullable<LlmFailure["imageLimit"]>): Promise<boolean>
  /** Closes what is open, so that the next request goes over a new connection. Absent where a new one reaches no other server. */
  reconnect?(): void
  close(): void
}

/** Shared between the processes of a home, so that one refusal is enough for all of them. */
export interface RateLimitGuard {
  /** Epoch seconds; undefined when nothing is known to be used up. */
  restsUntil(): number | undefined
  record(seconds: number): void
  clear(): void
}

/** The headers, or a sentence that says what is missing. */
export type Proof = Result<Readonly<Record<string, string>>>

export interface SignedParts {
  readonly path: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** A wire with the type of its state hidden, so that one client speaks all of them. */
export interface WireCodec {
  readonly framing: "sse" | "aws-event-stream"
  readonly textResults?: boolean
  echoesReasoning?(model: string): boolean
  path(request: ModelRequest): string
  headers(request: ModelRequest): Readonly<Record<string, string>>
  encode(request: ModelRequest): string
  decoder(): Decoder
  decodeWhole(body: string): Finished
}

export interface Decoder {
  take(frame: Frame): readonly ModelEvent[]
  finish(how: { readonly ended: boolean }): Finished
}

export function codecOf<State>(wire: Wire<State>): WireCodec {
  return {
    framing: wire.framing,
    textResults: wire.textResults === true,
    echoesReasoning: (model) => wire.echoesReasoning?.(model) ?? true,
    path: (request) => wire.path(request),
    headers: (request) => wire.headers(request),
    encode: (request) => wire.encode(request),
    decodeWhole: (body) => wire.decodeWhole(body),
    decoder: () => {
      let state = wire.start()
      return {
        take: (frame) => {
          const [next, events] = wire.decode(state, frame)
          state = next
          return events
        },
        finish: (how) => wire.finish(state, how),
      }
    },
  }
}
