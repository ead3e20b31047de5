import { assertNever } from "../base/assert-never.ts"
import type { Clock } from "../base/clock.ts"
import { isAbort } from "../base/abort.ts"
import { isRecord, parseJson } from "../base/json.ts"
import { backoffMs } from "./backoff.ts"
import { classifyMalformed, classifyResponse, classifyTransport } from "./failure.ts"
import type { FailureContext, LlmFailure } from "./failure.ts"
import { openHttpConnection } from "./http.ts"
import type { HttpConnection, HttpResponse, HttpTimeouts } from "./http.ts"
import type { ModelClient, ModelEvent, ModelReply, ModelRequest, ModelRuntime } from "./model.ts"
import { SseReader } from "./sse.ts"
import type { Finished, Wire } from "./wire/wire.ts"

export interface HttpClientOptions<State> {
  readonly runtime: ModelRuntime
  readonly wire: Wire<State>
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: HttpTimeouts
  /** Requests in all, the first one included. */
  readonly maxAttempts: number
  readonly clock: Clock
  readonly random: () => number
}

/**
 * Asks a model over HTTP. A failure that the classification calls retryable is repeated with jittered backoff, as long as
 * nobody has seen any of the reply; what was shown is never said twice.
 */
export function createHttpClient<State>(options: HttpClientOptions<State>): ModelClient {
  let connection: HttpConnection | undefined
  const connect = (): HttpConnection => (connection ??= openHttpConnection(new URL(options.runtime.baseUrl)))

  return {
    runtime: options.runtime,
    stream: async function* (request, { signal }) {
      const body = options.wire.encode(request)
      for (let attempt = 1; ; attempt += 1) {
        const tried = yield* attemptOnce({ ...options, request, body, signal, connect })
        if (signal.aborted) return { kind: "aborted" }
        if (tried.kind === "reply") return { kind: "reply", reply: tried.reply }
        if (tried.shown || !tried.failure.retryable || attempt >= options.maxAttempts) {
          return { kind: "failed", failure: tried.failure }
        }
        const delayMs = tried.failure.retryAfterMs ?? nextDelay(attempt, options.random)
        yield {
          type: "retry",
          attempt,
          delayMs,
          reason: tried.failure.reason,
          text: `${tried.failure.message}; trying again in ${(delayMs / 1000).toFixed(1)} s`,
        }
        try {
          await options.clock.sleep(delayMs, { signal })
        } catch (error) {
          if (isAbort(error)) return { kind: "aborted" }
          throw error
        }
      }
    },
    close: () => {
      connection?.close()
    },
  }
}

type Attempt =
  | { readonly kind: "reply"; readonly reply: ModelReply }
  | { readonly kind: "failed"; readonly failure: LlmFailure; readonly shown: boolean }

interface AttemptInput<State> extends HttpClientOptions<State> {
  readonly request: ModelRequest
  readonly body: string
  readonly signal: AbortSignal
  readonly connect: () => HttpConnection
}

async function* attemptOnce<State>(input: AttemptInput<State>): AsyncGenerator<ModelEvent, Attempt, void> {
  const context: FailureContext = { ...input.runtime, model: input.request.model, now: input.clock.now() }
  try {
    const connection = input.connect()
    const response = await connection.post(input.wire.path(input.request), input.body, {
      ...input,
      headers: { ...input.headers, ...input.wire.headers(input.request) },
    })
    if (response.status < 200 || response.status > 299) {
      const body = await readText(response.body, MAX_ERROR_BYTES)
      return { kind: "failed", failure: classifyResponse({ ...response, body }, context), shown: false }
    }
    return yield* readReply(input, response, context)
  } catch (error) {
    return { kind: "failed", failure: classifyTransport(error, context), shown: false }
  }
}

/** Reads the whole stream; a connection lost on the way is an ending the wire judges, not an exception. */
async function* readReply<State>(
  input: AttemptInput<State>,
  response: HttpResponse,
  context: FailureContext,
): AsyncGenerator<ModelEvent, Attempt, void> {
  const streams = (response.headers["content-type"] ?? "").includes("text/event-stream")
  if (!streams) {
    const whole = input.wire.decodeWhole(await readText(response.body, MAX_WHOLE_BYTES))
    if (whole.kind === "reply") yield* asEvents(whole.reply)
    return toAttempt(whole, context, whole.kind === "reply")
  }
  const reader = new SseReader()
  let state = input.wire.start()
  let shown = false
  let lost: { readonly error: unknown } | undefined
  const take = (frames: readonly Parameters<typeof input.wire.decode>[1][]): ModelEvent[] => {
    const events: ModelEvent[] = []
    for (const frame of frames) {
      const [next, more] = input.wire.decode(state, frame)
      state = next
      for (const event of more) {
        shown ||= event.type === "text-delta"
        joinOrPush(events, event)
      }
    }
    return events
  }
  try {
    for await (const bytes of response.body) {
      for (const event of take(reader.push(bytes))) yield event
    }
    for (const event of take(reader.end())) yield event
  } catch (error) {
    if (input.signal.aborted) throw error
    // The reader may hold half a frame; it is no frame of the server and must not be judged as one.
    lost = { error }
  }
  const finished = input.wire.finish(state, { ended: lost === undefined })
  if (finished.kind === "nothing" && lost !== undefined) {
    return { kind: "failed", failure: classifyTransport(lost.error, context), shown }
  }
  return toAttempt(finished, context, shown)
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
      return { kind: "reply", reply: finished.reply }
    case "nothing":
      return { kind: "failed", failure: classifyMalformed(finished.why, context), shown }
    case "error":
      return {
        kind: "failed",
        failure: classifyResponse({ status: statusInside(finished.body), headers: {}, body: finished.body }, context),
        shown,
      }
    default:
      return assertNever(finished)
  }
}

/** An error that comes inside a stream carries its status as `code`, where it has one. */
function statusInside(body: string): number {
  const parsed = parseJson(body)
  const error = isRecord(parsed) ? parsed["error"] : undefined
  const code = isRecord(error) ? error["code"] : undefined
  return typeof code === "number" && code >= 400 && code <= 599 ? code : 500
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

function nextDelay(attempt: number, random: () => number): number {
  return backoffMs({ attempt, baseMs: 2000, maxMs: 60_000, ratio: 0.5, random })
}
