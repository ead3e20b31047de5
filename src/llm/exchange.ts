import { assertNever } from "../base/assert-never.ts"
import type { Credential } from "./credential.ts"
import { classifyMalformed, classifyResponse, classifyTransport } from "./failure/failure.ts"
import type { FailureContext, LlmFailure } from "./failure/failure.ts"
import { HttpTimeoutError } from "./http/http.ts"
import type { HttpResponse } from "./http/http.ts"
import { watchSilence } from "./http/silence.ts"
import type { SilenceWatch } from "./http/silence.ts"
import type { ModelEvent, ModelReply, ModelRequest } from "./model.ts"
import type { Decoder, Route } from "./route.ts"
import { isNearlyUsedUp, parseRateLimits } from "./failure/rate-limit-headers.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"
import { SseReader } from "./http/sse.ts"
import type { Frame } from "./http/sse.ts"
import { createThinkScrubber, splitThinkBlocks } from "./think-tags.ts"
import type { Finished } from "./wire/wire.ts"

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
 * What one attempt came to. `shown`: somebody has seen a part of the reply, so it must not be asked for again. `dropped`: the stream
 * had begun and its connection broke, before anything was seen; a reply is then one that ends inside a tool call.
 */
export type Attempt =
  | { readonly kind: "reply"; readonly reply: ModelReply; readonly dropped?: true }
  | { readonly kind: "failed"; readonly failure: LlmFailure; readonly shown: boolean; readonly dropped?: true }

/** One request, one answer. Whatever the network or the server did is an outcome; nothing is thrown. */
export async function* exchange(input: ExchangeInput): AsyncGenerator<ModelEvent, Attempt, void> {
  const { route, request } = input
  const { codec } = route
  const context = contextOf(input)
  const timeouts = route.timeouts(input.approxTokens)
  const silence = watchSilence(timeouts.staleMs)
  const signal = AbortSignal.any([input.signal, silence.signal])
  try {
    const body = codec.encode(request)
    const path = codec.path(request)
    // What the settings say about headers beats what the wire would send.
    const headers = { ...codec.headers(request), ...route.headers }
    const proof = await route.authorise(input.credential, { path, body, headers, signal })
    if (!proof.ok) return { kind: "failed", failure: missingCredentials(proof.error, context), shown: false }
    const response = await route.connectionFor(input.credential).post(path, body, {
      headers: { ...headers, ...proof.value },
      signal,
      timeouts,
    })
    if (response.status < 200 || response.status > 299) {
      const text = await readText(response.body, MAX_ERROR_BYTES)
      return { kind: "failed", failure: classifyResponse({ ...response, body: text }, context), shown: false }
    }
    const limits = parseRateLimits(response.headers, context.now)
    route.noteRateLimits?.(limits)
    yield* limitNotices(limits)
    return yield* readReply({ ...input, context, silence }, response)
  } catch (error) {
    return { kind: "failed", failure: classifyTransport(silence.error ?? error, context), shown: false }
  } finally {
    silence.stop()
  }
}

function contextOf({ route, request, approxTokens, now }: ExchangeInput): FailureContext {
  const { provider, model, baseUrl, contextLength } = route.runtime
  return { provider, model, baseUrl, now, approxTokens, contextLength, numMessages: request.messages.length }
}

/** A limit that is nearly used up is worth knowing before it is hit. */
function* limitNotices(limits: RateLimits): Generator<ModelEvent> {
  for (const [name, bucket] of Object.entries(limits)) {
    if (!isNearlyUsedUp(bucket)) continue
    yield {
      type: "notice",
      text: `${bucket.remaining} of ${bucket.limit} ${name.replace("-1h", " per hour")} are left at the provider`,
    }
  }
}

/** Reads the whole stream; a connection lost on the way is an ending the wire judges, not an exception. */
async function* readReply(
  input: ExchangeInput & { readonly context: FailureContext; readonly silence: SilenceWatch },
  response: HttpResponse,
): AsyncGenerator<ModelEvent, Attempt, void> {
  const { codec } = input.route
  const type = response.headers["content-type"] ?? ""
  if (!type.includes("event-stream") && !type.includes("eventstream")) {
    const whole = codec.decodeWhole(await readText(response.body, MAX_WHOLE_BYTES))
    if (whole.kind === "reply") yield* asEvents(whole.reply)
    return toAttempt(whole, input.context, whole.kind === "reply")
  }
  const reader = await readerFor(codec.framing)
  const decoder = codec.decoder()
  const scrubber = createThinkScrubber()
  let shown = false
  let lost: { readonly error: unknown } | undefined
  const take = (frames: readonly Frame[]): readonly ModelEvent[] => {
    if (frames.length > 0) input.silence.heard()
    const events = decodeFrames(decoder, frames).flatMap((event) =>
      event.type === "text-delta" ? spoken(scrubber.feed(event.text)) : [event],
    )
    shown ||= events.some((event) => event.type === "text-delta")
    return events
  }
  try {
    for await (const bytes of response.body) yield* take(reader.push(bytes))
    yield* take(reader.end())
    yield* spoken(scrubber.flush())
  } catch (error) {
    if (input.signal.aborted) throw error
    // The reader may hold half a frame; it is no frame of the server and must not be judged as one.
    lost = { error: input.silence.error ?? error }
  }
  const finished = decoder.finish({ ended: lost === undefined })
  if (lost === undefined) return toAttempt(finished, input.context, shown)
  // Silence is no broken connection: asking at once would only mean to wait as long again.
  const dropped = !shown && !(lost.error instanceof HttpTimeoutError) ? ({ dropped: true } as const) : {}
  if (finished.kind === "nothing") {
    return { kind: "failed", failure: classifyTransport(lost.error, input.context), shown, ...dropped }
  }
  const attempt = toAttempt(finished, input.context, shown)
  return attempt.kind === "reply" && attempt.reply.ending === "cut-call" ? { ...attempt, ...dropped } : attempt
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

function decodeFrames(decoder: Decoder, frames: readonly Frame[]): readonly ModelEvent[] {
  const events: ModelEvent[] = []
  for (const frame of frames) for (const event of decoder.take(frame)) joinOrPush(events, event)
  return events
}

/** Words that arrived in one network chunk are shown at the same moment anyway; joined they cost one event instead of many. */
function joinOrPush(events: ModelEvent[], event: ModelEvent): void {
  const last = events.at(-1)
  if ((event.type === "text-delta" || event.type === "reasoning-delta") && last?.type === event.type) {
    events[events.length - 1] = { ...last, text: last.text + event.text }
  } else {
    events.push(event)
  }
}

function toAttempt(finished: Finished, context: FailureContext, shown: boolean): Attempt {
  switch (finished.kind) {
    case "reply":
      return { kind: "reply", reply: withoutThinkBlocks(finished.reply) }
    case "nothing":
      return { kind: "failed", failure: classifyMalformed(finished, context), shown }
    case "error":
      return {
        kind: "failed",
        failure: classifyResponse({ status: null, headers: {}, body: finished.body }, context),
        shown,
      }
    default:
      return assertNever(finished)
  }
}

/** Thoughts that a model writes between tags in its text are shown as thoughts. */
function spoken({ visible, thought }: { readonly visible: string; readonly thought: string }): readonly ModelEvent[] {
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
    message: `${provider} cannot be asked: ${what}`,
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
const MAX_WHOLE_BYTES = 64 * 1024 * 1024

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
