import type { Clock } from "../base/clock.ts"
import type { Result } from "../base/result.ts"
import { createHistoryIds } from "./call-ids.ts"
import { sendWithRetries } from "./retry-loop.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { ModelClient, ModelEvent } from "./model.ts"
import type { Downgrade } from "./request-downgrade.ts"
import { approxRequestTokens } from "./request-size.ts"
import type { Route } from "./route.ts"

export interface ModelClientOptions {
  readonly primary: Route
  /** Fallbacks in order, opened only when needed. */
  readonly fallbacks: readonly FallbackRoute[]
  /** Attempts on one route before a temporary failure becomes final, including the first. */
  readonly maxAttempts: number
  /** Immediate retries of a stream whose connection broke before any text was shown. */
  readonly streamRetries: number
  readonly clock: Clock
  readonly random: () => number
}

export interface FallbackRoute {
  /** Provider and model, for display. */
  readonly name: string
  open(): Promise<Result<Route>>
}

/** After a rate limit, the primary is not used for this long. */
const PRIMARY_COOLDOWN_MS = 60_000

/** The context window of a login without the long-context tier. */
const STANDARD_TIER_TOKENS = 200_000

/**
 * Creates a client that sends requests to the primary route and, when that fails, to the fallbacks; `retry-loop.ts` has the retry
 * rules of one route. Once part of a reply was shown, a failure is final, so that no text appears twice. A context overflow is
 * returned to the caller, who shortens the conversation to fit the window in `runtime` and sends it again.
 */
export function createModelClient(options: ModelClientOptions): ModelClient {
  let primary = options.primary
  let route = primary
  let nextFallback = 0
  let primaryCooldownEnd = 0
  const opened = new Set<Route>([options.primary])
  const historyIds = createHistoryIds()
  // What a server has refused once is left out for the rest of the session.
  const downgrades = new WeakMap<Route, Set<Downgrade>>()
  const downgradesOf = (target: Route): Set<Downgrade> => {
    const known = downgrades.get(target) ?? new Set<Downgrade>()
    downgrades.set(target, known)
    return known
  }
  /** Replaces the current route with another form of the same route. */
  const replaceRoute = (next: Route): void => {
    downgrades.set(next, downgradesOf(route))
    if (route === primary) primary = next
    route = next
    opened.add(next)
  }

  const client: ModelClient = {
    get runtime() {
      return route.runtime
    },
    get rateLimits() {
      return route.rateLimits?.() ?? {}
    },
    beginTurn: () => {
      if (options.clock.now() < primaryCooldownEnd) return
      route = primary
      nextFallback = 0
    },
    confirmWindow: async ({ signal }) => {
      const current = route
      const tokens = await current.requestContextWindow(signal)
      if (tokens === undefined) return current.windowIsGuess !== true
      // A fallback may have replaced the route during the request; the result does not apply to it.
      if (tokens === current.runtime.contextLength || route !== current) return true
      const corrected = await current.withWindow(tokens)
      if (route === current) replaceRoute(corrected)
      return true
    },
    ollamaWindow: async (options) => await route.ollamaWindow?.(options),
    fallBack: async () => {
      const steps = openNext()
      for (;;) {
        const step = await steps.next()
        if (step.done !== true) continue
        if (step.value === undefined) return undefined
        route = step.value.route
        return `switching to ${step.value.name}`
      }
    },
    stream: async function* (given, { signal, auxiliary = false }) {
      const { messages, used: usedCallIds } = historyIds(given.messages)
      const request = { ...given, messages }
      let first: LlmFailure | undefined
      const tried: string[] = []
      for (;;) {
        const canFallBack = nextFallback < options.fallbacks.length
        const outcome = yield* sendWithRetries({
          ...options,
          route,
          request,
          usedCallIds,
          signal,
          downgrades: downgradesOf(route),
          canFallBack,
          auxiliary,
          streamRetries: auxiliary ? 0 : options.streamRetries,
          mayReconnect: !auxiliary && route === primary,
        })
        if (outcome.kind === "reopened") {
          replaceRoute(outcome.route)
          continue
        }
        if (outcome.kind !== "failed") return outcome
        const { failure } = outcome
        yield* adoptReportedWindow(failure)
        first ??= failure
        if (!outcome.mayFallBack) return { kind: "failed", failure }
        if (route === primary && failure.reason === "rate_limit") {
          primaryCooldownEnd = options.clock.now() + PRIMARY_COOLDOWN_MS
        }
        const next = yield* openNext({ failure, tried })
        if (next === undefined) return { kind: "failed", failure: withTried(first, tried) }
        route = next.route
        const tokens = approxRequestTokens(request)
        if (tokens > route.runtime.contextLength) return { kind: "failed", failure: tooLongFor(route, tokens) }
      }
    },
    close: () => {
      for (const each of opened) each.close()
    },
  }

  /** Uses the context window that the server reported in an error, when it is smaller than the assumed one. */
  async function* adoptReportedWindow(failure: LlmFailure): AsyncGenerator<ModelEvent, void, void> {
    const { windowTokens } = failure
    const tokens = failure.reason === "long_context_tier" ? STANDARD_TIER_TOKENS : windowTokens
    if (tokens === undefined || tokens >= route.runtime.contextLength) return
    // The user may buy the long-context tier at any time, so its absence is not cached beyond this session.
    if (windowTokens !== undefined) route.rememberWindow(windowTokens)
    replaceRoute(await route.withWindow(tokens))
    const text = `${route.runtime.provider} reports a context window of ${tokens} tokens for ${route.runtime.model}`
    yield { type: "notice", text, runtime: route.runtime }
  }

  /** Opens the next usable fallback. With `trail`, the events name the failure, and the models that were tried are recorded. */
  async function* openNext(trail?: {
    readonly failure: LlmFailure
    readonly tried: string[]
  }): AsyncGenerator<ModelEvent, { readonly route: Route; readonly name: string } | undefined, void> {
    while (nextFallback < options.fallbacks.length) {
      const candidate = options.fallbacks[nextFallback]
      nextFallback += 1
      if (candidate === undefined) return undefined
      const open = await candidate.open()
      if (!open.ok) {
        trail?.tried.push(`${candidate.name}, which cannot be used`)
        const text = `${candidate.name} cannot be used: ${open.error}`
        yield { type: "switch", kind: "fallback", text, runtime: route.runtime }
        continue
      }
      if (sameModel(open.value, route)) {
        open.value.close()
        continue
      }
      opened.add(open.value)
      const { runtime } = open.value
      trail?.tried.push(candidate.name)
      const why = trail === undefined ? "" : `${trail.failure.message}; `
      yield { type: "switch", kind: "fallback", text: `${why}switching to ${candidate.name}`, runtime }
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

/** The fallback has a smaller context window than the request needs; sending it would certainly fail. */
function tooLongFor({ runtime }: Route, tokens: number): LlmFailure {
  const { model, provider, contextLength } = runtime
  return {
    reason: "context_overflow",
    status: null,
    message: `${model} (${provider}) has a context window of ${contextLength} tokens and the conversation has about ${tokens}`,
    detail: "",
    retryable: true,
    compress: true,
    rotateCredential: false,
    fallback: false,
    windowTokens: contextLength,
  }
}
