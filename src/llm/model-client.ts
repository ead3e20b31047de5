import { isAbort } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import type { Result } from "../base/result.ts"
import { backoffMs } from "./backoff.ts"
import { recoverCredential } from "./credential-recovery.ts"
import { parseAvailableOutput } from "./failure/error-text.ts"
import { exchange } from "./exchange.ts"
import type { Attempt } from "./exchange.ts"
import type { FailureContext, LlmFailure } from "./failure/failure.ts"
import type { ModelClient, ModelEvent, ModelOutcome, ModelRequest } from "./model.ts"
import {
  withoutEncryptedReasoning,
  withoutImages,
  withoutReasoning,
  withoutToolImages,
  withPlainSchemas,
} from "./request-relief.ts"
import type { Route } from "./route.ts"

export interface ModelClientOptions {
  readonly primary: Route
  /** In order; each is opened when it is needed. */
  readonly fallbacks: readonly FallbackRoute[]
  /** Requests on one route that fail for the same passing reason, the first one included. */
  readonly maxAttempts: number
  readonly clock: Clock
  readonly random: () => number
}

export interface FallbackRoute {
  /** Provider and model, for people. */
  readonly name: string
  open(): Promise<Result<Route>>
}

/** A primary that limited us stays out of the next turns for this long. */
const PRIMARY_REST_MS = 60_000

/**
 * Asks a model and does what each class of failure calls for: wait, renew or change the key, send less, or ask the next route.
 * What was shown is never said twice: once a part of a reply was seen, a failure is final.
 */
export function createModelClient(options: ModelClientOptions): ModelClient {
  let primary = options.primary
  let route = primary
  let nextFallback = 0
  let primaryRestsUntil = 0
  const opened = new Set<Route>([options.primary])
  // What a server has refused once is not sent to it again in this session.
  const reliefs = new WeakMap<Route, Set<Relief>>()

  const client: ModelClient = {
    get runtime() {
      return route.runtime
    },
    beginTurn: () => {
      if (options.clock.now() < primaryRestsUntil) return
      route = primary
      nextFallback = 0
    },
    stream: async function* (request, { signal }) {
      let first: LlmFailure | undefined
      const tried: string[] = []
      for (;;) {
        const known = reliefs.get(route) ?? new Set<Relief>()
        reliefs.set(route, known)
        const asked = yield* askRoute({
          ...options,
          route,
          request,
          signal,
          known,
          canFallBack: nextFallback < options.fallbacks.length,
        })
        if (asked.kind === "alternative") {
          if (route === primary) primary = asked.route
          route = asked.route
          opened.add(route)
          continue
        }
        if (asked.kind !== "failed") return asked
        first ??= asked.failure
        if (!asked.mayFallBack) return { kind: "failed", failure: asked.failure }
        if (route === primary && asked.failure.reason === "rate_limit") {
          primaryRestsUntil = options.clock.now() + PRIMARY_REST_MS
        }
        const next = yield* openNext()
        if (next === undefined) return { kind: "failed", failure: withTried(first, tried) }
        route = next.route
        tried.push(next.name)
      }
    },
    close: () => {
      for (const each of opened) each.connection.close()
    },
  }

  async function* openNext(): AsyncGenerator<
    ModelEvent,
    { readonly route: Route; readonly name: string } | undefined,
    void
  > {
    while (nextFallback < options.fallbacks.length) {
      const candidate = options.fallbacks[nextFallback]
      nextFallback += 1
      if (candidate === undefined) return undefined
      const open = await candidate.open()
      if (!open.ok) {
        yield { type: "switch", kind: "fallback", text: `${candidate.name} cannot be used: ${open.error}` }
        continue
      }
      if (sameModel(open.value, route)) continue
      opened.add(open.value)
      yield { type: "switch", kind: "fallback", text: `going on with ${candidate.name}` }
      return { route: open.value, name: candidate.name }
    }
    return undefined
  }
  return client
}

function sameModel(a: Route, b: Route): boolean {
  return a.runtime.model === b.runtime.model && a.runtime.baseUrl === b.runtime.baseUrl
}

function withTried(failure: LlmFailure, tried: readonly string[]): LlmFailure {
  return tried.length === 0 ? failure : { ...failure, message: `${failure.message} (also tried: ${tried.join(", ")})` }
}

interface RouteInput extends ModelClientOptions {
  readonly route: Route
  readonly request: ModelRequest
  readonly signal: AbortSignal
  readonly known: Set<Relief>
  readonly canFallBack: boolean
}

type RouteOutcome =
  | Exclude<ModelOutcome, { kind: "failed" }>
  | { readonly kind: "failed"; readonly failure: LlmFailure; readonly mayFallBack: boolean }
  | { readonly kind: "alternative"; readonly route: Route }

/** All attempts on one route. */
async function* askRoute(input: RouteInput): AsyncGenerator<ModelEvent, RouteOutcome, void> {
  const { route, signal } = input
  const { credentials } = route
  let credential = await credentials.select()
  if (credential === undefined && credentials.size() > 0) return exhausted(input)
  const limited = new Set<string>()
  const refreshed = new Set<string>()
  let outputCap: number | undefined
  for (let attempt = 1; ;) {
    const tried: Attempt = yield* exchange({
      route,
      request: relieved(input, outputCap),
      credential,
      signal,
      context: contextOf(input),
    })
    if (signal.aborted) return { kind: "aborted" }
    if (tried.kind === "reply") return tried
    const { failure } = tried
    if (tried.shown) return { kind: "failed", failure, mayFallBack: false }

    const recovery = await recoverCredential({
      ...route.runtime,
      failure,
      credential,
      credentials,
      limited,
      refreshed,
      signal,
    })
    if (recovery.kind === "use") {
      if (recovery.credential.id !== credential?.id) {
        yield {
          type: "switch",
          kind: "rotate",
          text: `${failure.message}; going on with the key "${recovery.credential.label}"`,
        }
      }
      credential = recovery.credential
      continue
    }
    const relief = RELIEF_FOR[failure.reason]
    if (relief !== undefined && !input.known.has(relief)) {
      input.known.add(relief)
      continue
    }
    const room =
      failure.reason === "context_overflow" && outputCap === undefined
        ? parseAvailableOutput(failure.detail)
        : undefined
    if (room !== undefined) {
      outputCap = Math.max(1, room - OUTPUT_MARGIN)
      continue
    }
    const alternative = await route.alternative(failure)
    if (alternative !== undefined) return { kind: "alternative", route: alternative }
    const capacity = failure.reason === "rate_limit" || failure.reason === "billing"
    // Only the conversation itself can be made shorter, and that is the caller's business.
    const givesUp =
      !failure.retryable ||
      failure.compress ||
      attempt >= input.maxAttempts ||
      (capacity && input.canFallBack && recovery.kind === "none")
    if (givesUp) return { kind: "failed", failure, mayFallBack: failure.fallback || failure.retryable }
    yield* wait(failure, attempt, input)
    if (signal.aborted) return { kind: "aborted" }
    attempt += 1
  }
}

const OUTPUT_MARGIN = 64

/** Things that can be left out of a request when a server refuses it because of them. */
type Relief = "reasoning" | "encrypted-reasoning" | "images" | "tool-images" | "schema-patterns"

const RELIEF_FOR: Partial<Record<LlmFailure["reason"], Relief>> = {
  thinking_signature: "reasoning",
  invalid_encrypted_content: "encrypted-reasoning",
  image_too_large: "images",
  multimodal_tool_content_unsupported: "tool-images",
  llama_cpp_grammar_pattern: "schema-patterns",
}

const RELIEVE: Record<Relief, (request: ModelRequest) => ModelRequest> = {
  reasoning: withoutReasoning,
  "encrypted-reasoning": withoutEncryptedReasoning,
  images: withoutImages,
  "tool-images": withoutToolImages,
  "schema-patterns": withPlainSchemas,
}

function relieved(input: RouteInput, outputCap: number | undefined): ModelRequest {
  const own: ModelRequest = { ...input.request, model: input.route.runtime.model }
  const lighter = [...input.known].reduce((request, relief) => RELIEVE[relief](request), own)
  return outputCap === undefined ? lighter : { ...lighter, maxOutputTokens: outputCap }
}

function contextOf({ route, request, clock }: RouteInput): FailureContext {
  const characters = request.system.length + request.messages.reduce((sum, message) => sum + sizeOf(message.content), 0)
  return {
    provider: route.runtime.provider,
    model: route.runtime.model,
    baseUrl: route.runtime.baseUrl,
    now: clock.now(),
    approxTokens: Math.ceil(characters / 4),
    contextLength: route.runtime.contextLength,
    numMessages: request.messages.length,
  }
}

function sizeOf(content: ModelRequest["messages"][number]["content"]): number {
  if (content === null) return 0
  return typeof content === "string"
    ? content.length
    : content.reduce((sum, part) => sum + (part.type === "text" ? part.text.length : 4000), 0)
}

async function* wait(failure: LlmFailure, attempt: number, input: RouteInput): AsyncGenerator<ModelEvent, void, void> {
  const delayMs =
    failure.retryAfterMs ?? backoffMs({ attempt, baseMs: 2000, maxMs: 60_000, ratio: 0.5, random: input.random })
  const text = `${failure.message}; trying again in ${(delayMs / 1000).toFixed(1)} s`
  yield { type: "retry", attempt, delayMs, reason: failure.reason, text }
  try {
    await input.clock.sleep(delayMs, { signal: input.signal })
  } catch (error) {
    if (!isAbort(error)) throw error
  }
}

function exhausted({ route }: RouteInput): RouteOutcome {
  const failure: LlmFailure = {
    reason: "rate_limit",
    status: null,
    message: `every key of ${route.runtime.provider} is resting or refused; \`hermes auth list ${route.runtime.provider}\` shows until when`,
    detail: "",
    retryable: false,
    compress: false,
    rotateCredential: false,
    fallback: true,
  }
  return { kind: "failed", failure, mayFallBack: true }
}
