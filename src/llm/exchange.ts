import { assertNever } from "../base/assert-never.ts"
import type { Credential } from "./credential.ts"
import { classifyUnusableReply, classifyResponse, classifyTransportError } from "./failure/failure.ts"
import type { FailureContext, LlmFailure } from "./failure/failure.ts"
import { HttpTimeoutError } from "./http/http-connection.ts"
import type { HttpResponse } from "./http/http-connection.ts"
import { startStaleTimeout } from "./http/stale-timeout.ts"
import type { StaleTimeout } from "./http/stale-timeout.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "./model.ts"
import type { Decoder, Route } from "./route.ts"
import { isNearLimit, parseRateLimits } from "./failure/rate-limit-headers.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"
import { SseReader } from "./http/sse.ts"
import type { Frame } from "./http/sse.ts"
import { createThinkScrubber, splitThinkBlocks } from "./think-tags.ts"
import type { DecodeResult } from "./wire/wire.ts"

export interface ExchangeInput {
  readonly route: Route
  readonly request: ModelRequest
  readonly credential: Credential | undefined
  readonly signal: AbortSignal
  readonly approxTokens: number
  /** Epoch milliseconds. */
  readonly now: number
}

/**
 * The result of one attempt. `shown`: part of the reply was emitted, so the request must not be repeated. `dropped`: the connection
 * broke after the stream began and before any text was emitted; a `reply` then ends inside a tool call.
 */
export type Attempt =
  | { readonly kind: "reply"; readonly reply: ModelReply; readonly dropped?: true }
  | { readonly kind: "failed"; readonly failure: LlmFailure; readonly shown: boolean; readonly dropped?: true }

/** Sends one request and reads one reply. Network and server failures are returned, never thrown. */
export async function* exchange(input: ExchangeInput): AsyncGenerator<ModelEvent, Attempt, void> {
  const { route, request } = input
  const { codec } = route
  const context = contextOf(input)
  const timeouts = route.timeouts(input.approxTokens)
  const staleTimeout = startStaleTimeout(timeouts.staleMs)
  const signal = AbortSignal.any([input.signal, staleTimeout.signal])
  try {
    const body = codec.encode(request)
    const path = codec.path(request)
    // Headers from the settings override those of the wire.
    const headers = { ...codec.headers(request), ...route.headers }
    const authorisation = await route.authorise(input.credential, { path, body, headers, signal })
    if (!authorisation.ok)
      return { kind: "failed", failure: missingCredentials(authorisation.error, context), shown: false }
    const response = await route.connectionFor(input.credential).post(path, body, {
      headers: { ...headers, ...authorisation.value },
      signal,
      timeouts,
    })
    if (response.status < 200 || response.status > 299) {
      const text = await readText(response.body, MAX_ERROR_BYTES)
      const sentKey = Object.keys(authorisation.value).length > 0 || headers["authorization"] !== undefined
      const failure = classifyResponse({ ...response, body: text }, { ...context, sentKey })
      return { kind: "failed", failure, shown: false }
    }
    const limits = parseRateLimits(response.headers, context.now)
    route.noteRateLimits?.(limits)
    yield* limitNotices(limits)
    return yield* readReply({ ...input, context, staleTimeout }, response)
  } catch (error) {
    return { kind: "failed", failure: classifyTransportError(staleTimeout.error ?? error, context), shown: false }
  } finally {
    staleTimeout.stop()
  }
}

function contextOf({ route, request, approxTokens, now }: ExchangeInput): FailureContext {
  const { provider, model, baseUrl, contextLength } = route.runtime
  return { provider, model, baseUrl, now, approxTokens, contextLength, numMessages: request.messages.length }
}

/** Warns about rate limits that are nearly used up. */
function* limitNotices(limits: RateLimits): Generator<ModelEvent> {
  for (const [name, bucket] of Object.entries(limits)) {
    if (!isNearLimit(bucket)) continue
    yield {
      type: "notice",
      text: `${bucket.remaining} of ${bucket.limit} ${name.replace("-1h", " per hour")} left at the provider`,
    }
  }
}

type ReadInput = ExchangeInput & { readonly context: FailureContext; readonly staleTimeout: StaleTimeout }

async function* readReply(input: ReadInput, response: HttpResponse): AsyncGenerator<ModelEvent, Attempt, void> {
  const type = response.headers["content-type"] ?? ""
  if (type.includes("event-stream") || type.includes("eventstream")) return yield* readStream(input, response)
  const result = input.route.codec.decodeComplete(await readText(response.body, MAX_COMPLETE_BYTES))
  const attempt = toAttempt(result, input.context, false)
  if (attempt.kind === "reply") yield* asEvents(attempt.reply)
  return attempt
}

/**
 * Reads a stream to its end, to the loss of the connection or to a damaged frame. In the last two cases the decoder decides what the
 * frames so far amount to: nothing after a damaged frame is used, because the text would have a gap.
 */
async function* readStream(input: ReadInput, response: HttpResponse): AsyncGenerator<ModelEvent, Attempt, void> {
  const { codec } = input.route
  const reader = await readerFor(codec.framing)
  const decoder = codec.decoder()
  const scrubber = createThinkScrubber()
  let shown = false
  let cut: StreamCut | undefined
  const emitted = (events: readonly ModelEvent[]): readonly ModelEvent[] => {
    shown ||= events.some((event) => event.type === "text-delta")
    return events
  }
  try {
    for await (const frames of framesOf(response.body, reader)) {
      if (frames.length > 0) input.staleTimeout.reset()
      const { events, damage } = decodeFrames(decoder, frames)
      yield* emitted(
        events.flatMap((event) => (event.type === "text-delta" ? scrubbedEvents(scrubber.feed(event.text)) : [event])),
      )
      if (damage === undefined) continue
      cut = { kind: "damaged", received: damage }
      break
    }
  } catch (error) {
    if (input.signal.aborted) throw error
    cut = { kind: "lost", error: input.staleTimeout.error ?? error }
  }
  const decoded = decoder.finish({ ended: cut === undefined })
  // A call that was cut off is requested again if nothing was shown, so the text held back is not shown either.
  const mayBeRepeated = decoded.kind !== "reply" || (decoded.reply.ending === "cut-call" && !shown)
  if (!mayBeRepeated) yield* emitted(scrubbedEvents(scrubber.flush()))
  // A timeout is not a dropped connection: an immediate retry would only wait as long again.
  const timedOut = cut?.kind === "lost" && cut.error instanceof HttpTimeoutError
  const dropped = !shown && !timedOut ? ({ dropped: true } as const) : {}
  // Text that consists of reasoning in tags was not shown, so there is nothing to keep.
  const keepsNothing = decoded.kind === "reply" && decoded.reply.ending === "cut-text" && !shown
  if (cut !== undefined && (decoded.kind === "unusable" || keepsNothing)) {
    return { kind: "failed", failure: classifyCut(cut, input.context), shown, ...dropped }
  }
  if (keepsNothing) return toAttempt({ kind: "unusable", received: "a stream that was cut off" }, input.context, shown)
  const attempt = toAttempt(decoded, input.context, shown)
  return attempt.kind === "reply" && attempt.reply.ending === "cut-call" ? { ...attempt, ...dropped } : attempt
}

/** Why a stream was not read to its end. */
type StreamCut =
  | { readonly kind: "lost"; readonly error: unknown }
  /** `received` completes the sentence "the server answered with …". */
  | { readonly kind: "damaged"; readonly received: string }

function classifyCut(cut: StreamCut, context: FailureContext): LlmFailure {
  return cut.kind === "lost" ? classifyTransportError(cut.error, context) : classifyUnusableReply(cut, context)
}

/** The frames of each network chunk, then those that only the end of the response completes. */
async function* framesOf(
  body: AsyncIterable<Uint8Array>,
  reader: FrameReader,
): AsyncGenerator<readonly Frame[], void, void> {
  for await (const bytes of body) yield reader.push(bytes)
  yield reader.end()
}

interface FrameReader {
  push(bytes: Uint8Array): readonly Frame[]
  end(): readonly Frame[]
}

async function readerFor(framing: "sse" | "aws-event-stream"): Promise<FrameReader> {
  if (framing === "sse") return new SseReader()
  const { EventStreamReader } = await import("./aws/event-stream.ts")
  return new EventStreamReader()
}

/** Decodes the frames up to a damaged one, which `damage` describes. */
function decodeFrames(
  decoder: Decoder,
  frames: readonly Frame[],
): { readonly events: readonly ModelEvent[]; readonly damage?: string } {
  const events: ModelEvent[] = []
  for (const frame of frames) {
    const decoded = decoder.take(frame)
    if (decoded === undefined) return { events, damage: `a damaged frame: ${frame.data.slice(0, 120)}` }
    for (const event of decoded) joinOrPush(events, event)
  }
  return { events }
}

/** Joins consecutive deltas of one network chunk into one event. */
function joinOrPush(events: ModelEvent[], event: ModelEvent): void {
  const last = events.at(-1)
  if ((event.type === "text-delta" || event.type === "reasoning-delta") && last?.type === event.type) {
    events[events.length - 1] = { ...last, text: last.text + event.text }
  } else {
    events.push(event)
  }
}

function toAttempt(decoded: DecodeResult, context: FailureContext, shown: boolean): Attempt {
  switch (decoded.kind) {
    case "reply":
      return { kind: "reply", reply: withoutThinkBlocks(decoded.reply) }
    case "unusable":
      return { kind: "failed", failure: classifyUnusableReply(decoded, context), shown }
    case "error":
      return {
        kind: "failed",
        failure: classifyResponse({ status: null, headers: {}, body: decoded.body }, context),
        shown,
      }
    default:
      return assertNever(decoded)
  }
}

/** Emits reasoning that a model writes between tags in its text as reasoning. */
function scrubbedEvents({
  visible,
  thought,
}: {
  readonly visible: string
  readonly thought: string
}): readonly ModelEvent[] {
  return [
    ...(thought === "" ? [] : [{ type: "reasoning-delta", text: thought } as const]),
    ...(visible === "" ? [] : [{ type: "text-delta", text: visible } as const]),
  ]
}

function withoutThinkBlocks(reply: ModelReply): ModelReply {
  if (reply.content === null || !reply.content.includes("<")) return reply
  const { visible, thought } = splitThinkBlocks(reply.content)
  if (thought === "" && visible === reply.content) return reply
  const reasoning = [reply.reasoning ?? "", thought].filter((part) => part !== "").join("\n\n")
  return { ...reply, content: visible === "" ? null : visible, reasoning: reasoning === "" ? null : reasoning }
}

function missingCredentials(what: string, { provider }: FailureContext): LlmFailure {
  return {
    reason: "auth",
    status: null,
    message: `${provider} has no usable credentials: ${what}`,
    detail: what,
    retryable: false,
    compress: false,
    rotateCredential: false,
    fallback: true,
  }
}

function* asEvents(reply: ModelReply): Generator<ModelEvent> {
  if (reply.reasoning !== null) yield { type: "reasoning-delta", text: reply.reasoning }
  if (reply.content !== null) yield { type: "text-delta", text: reply.content }
}

const MAX_ERROR_BYTES = 64 * 1024
const MAX_COMPLETE_BYTES = 64 * 1024 * 1024

async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size >= maxBytes) break
  }
  return Buffer.concat(chunks).toString("utf8").slice(0, maxBytes)
}
