import type { Clock } from "../base/clock.ts"
import type { Result } from "../base/result.ts"
import { askRoute } from "./ask-route.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { ModelClient, ModelEvent } from "./model.ts"
import type { Relief } from "./request-relief.ts"
import { approxRequestTokens } from "./request-size.ts"
import type { Route } from "./route.ts"

export interface ModelClientOptions {
  readonly primary: Route
  /** In order; each is opened when it is needed. */
  readonly fallbacks: readonly FallbackRoute[]
  /** Requests on one route that fail for the same passing reason, the first one included. */
  readonly maxAttempts: number
  /** How often a reply whose connection broke before anything was seen is asked for again at once. */
  readonly streamRetries: number
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

/** What a login without the long context may use. */
const USUAL_TIER_TOKENS = 200_000

/**
 * Asks a model and does what each class of failure calls for: wait, renew or change the key, send less, or ask the next route.
 * What was shown is never said twice: once a part of a reply was seen, a failure is final. A request that is too long comes back
 * as it is: the caller shortens the conversation and asks again, and the window it has to fit by then is in `runtime`.
 */
export function createModelClient(options: ModelClientOptions): ModelClient {
  let primary = options.primary
  let route = primary
  let nextFallback = 0
  let primaryRestsUntil = 0
  const opened = new Set<Route>([options.primary])
  // What a server has refused once is not sent to it again in this session.
  const reliefs = new WeakMap<Route, Set<Relief>>()
  const reliefsOf = (asked: Route): Set<Relief> => {
    const known = reliefs.get(asked) ?? new Set<Relief>()
    reliefs.set(asked, known)
    return known
  }
  /** Another form of the route in use takes its place. */
  const replaceWith = (next: Route): void => {
    reliefs.set(next, reliefsOf(route))
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
      if (options.clock.now() < primaryRestsUntil) return
      route = primary
      nextFallback = 0
    },
    confirmWindow: async ({ signal }) => {
      const asked = route
      const tokens = await asked.askWindow(signal)
      if (tokens === undefined) return asked.windowIsGuess !== true
      // Meanwhile somebody else may be asked; what was learned is then of no use.
      if (tokens === asked.runtime.contextLength || route !== asked) return true
      const known = await asked.withWindow(tokens)
      if (route === asked) replaceWith(known)
      return true
    },
    servedWindow: async (how) => await route.servedWindow?.(how),
    fallBack: async () => {
      const steps = openNext()
      for (;;) {
        const step = await steps.next()
        if (step.done !== true) continue
        if (step.value === undefined) return undefined
        route = step.value.route
        return `going on with ${step.value.name}`
      }
    },
    stream: async function* (request, { signal, brief = false }) {
      let first: LlmFailure | undefined
      const tried: string[] = []
      for (;;) {
        const canFallBack = nextFallback < options.fallbacks.length
        const asked = yield* askRoute({
          ...options,
          route,
          request,
          signal,
          known: reliefsOf(route),
          canFallBack,
          streamRetries: brief ? 0 : options.streamRetries,
          mayReconnect: !brief && route === primary,
        })
        if (asked.kind === "alternative") {
          replaceWith(asked.route)
          continue
        }
        if (asked.kind !== "failed") return asked
        yield* learnWindow(asked.failure)
        first ??= asked.failure
        if (!asked.mayFallBack) return { kind: "failed", failure: asked.failure }
        if (route === primary && asked.failure.reason === "rate_limit") {
          primaryRestsUntil = options.clock.now() + PRIMARY_REST_MS
        }
        const next = yield* openNext({ failure: asked.failure, tried })
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

  /** The server said how much the model can read, and it is less than was thought: all later requests go by that. */
  async function* learnWindow(failure: LlmFailure): AsyncGenerator<ModelEvent, void, void> {
    const { windowTokens } = failure
    const told = failure.reason === "long_context_tier" ? USUAL_TIER_TOKENS : windowTokens
    if (told === undefined || told >= route.runtime.contextLength) return
    // A tier may be bought at any time, so it is not remembered beyond this session.
    if (windowTokens !== undefined) route.rememberWindow(windowTokens)
    replaceWith(await route.withWindow(told))
    const text = `${route.runtime.model} can read ${told} tokens, says ${route.runtime.provider}`
    yield { type: "notice", text, runtime: route.runtime }
  }

  /** A person who sees another model answer wants to know why, and who sees none who was asked: that is what `trail` is for. */
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
      yield { type: "switch", kind: "fallback", text: `${why}going on with ${candidate.name}`, runtime }
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

/** Who takes over reads less than the first choice: the request is not even sent, because its refusal is certain. */
function tooLongFor({ runtime }: Route, tokens: number): LlmFailure {
  const { model, provider, contextLength } = runtime
  return {
    reason: "context_overflow",
    status: null,
    message: `${model} (${provider}) can read ${contextLength} tokens and the conversation has about ${tokens}`,
    detail: "",
    retryable: true,
    compress: true,
    rotateCredential: false,
    fallback: false,
    windowTokens: contextLength,
  }
}
