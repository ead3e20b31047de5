import { isAbort } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import { compactDuration } from "../base/compact-count.ts"
import { backoffMs } from "./backoff.ts"
import { recoverCredential } from "./credential-recovery.ts"
import { exchange } from "./exchange.ts"
import type { Attempt } from "./exchange.ts"
import type { LlmFailure } from "./failure/failure.ts"
import { causeHint } from "./failure/failure-sentence.ts"
import type { ModelEvent, ModelOutcome, ModelReply, ModelRequest } from "./model.ts"
import type { Relief } from "./request-relief.ts"
import { approxRequestTokens } from "./request-size.ts"
import type { Route } from "./route.ts"

export interface RouteInput {
  readonly route: Route
  readonly request: ModelRequest
  readonly signal: AbortSignal
  /** What this server has refused before; what it refuses now is added. */
  readonly known: Set<Relief>
  readonly canFallBack: boolean
  /** Requests that fail for the same passing reason, the first one included. */
  readonly maxAttempts: number
  /** Times that a stream which broke unseen is asked for again at once. */
  readonly streamRetries: number
  /** When all attempts have lost the connection, one more is made over a new one. */
  readonly mayReconnect: boolean
  readonly clock: Clock
  readonly random: () => number
}

export type RouteOutcome =
  | Exclude<ModelOutcome, { kind: "failed" }>
  | { readonly kind: "failed"; readonly failure: LlmFailure; readonly mayFallBack: boolean }
  | { readonly kind: "alternative"; readonly route: Route }

/** All attempts on one route: the same key again, another key, a lighter request, a shorter answer, after a wait. */
export async function* askRoute(given: RouteInput): AsyncGenerator<ModelEvent, RouteOutcome, void> {
  const { route, signal } = given
  const { credentials, guard } = route
  const rests = guard?.restsUntil()
  if (rests !== undefined) return { kind: "failed", failure: usedUp(given, rests), mayFallBack: true }
  let credential = await credentials.select()
  if (credential === undefined && credentials.size() > 0)
    return { kind: "failed", failure: noKeyLeft(given), mayFallBack: true }
  let input = yield* prepared(given)
  if (signal.aborted) return { kind: "aborted" }
  const approxTokens = approxRequestTokens(input.request)
  const limited = new Set<string>()
  const refreshed = new Set<string>()
  let rotated = false
  let outputCap: number | undefined
  let dropped = 0
  let reconnected = !input.mayReconnect
  let shrunk = false
  for (let attempt = 1; ;) {
    await route.takeTurn?.(signal)
    const askedAt = input.clock.now()
    const tried: Attempt = yield* exchange({
      route,
      request: await requestFor(input, outputCap),
      credential,
      signal,
      approxTokens,
      now: askedAt,
    })
    if (signal.aborted) return { kind: "aborted" }
    if (tried.dropped === true && dropped < input.streamRetries) {
      dropped += 1
      if (tried.kind === "reply") yield { type: "notice", text: CUT_CALL }
      continue
    }
    if (tried.kind === "reply") {
      guard?.clear()
      return { kind: "reply", reply: withOwnEcho(tried.reply, route) }
    }
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
        rotated = true
        yield rotation(failure, recovery.credential.label, input)
      }
      credential = recovery.credential
      continue
    }
    if (failure.imageLimit !== undefined && !shrunk && (await route.learnImageLimit?.(failure.imageLimit)) === true) {
      shrunk = true
      const smaller = yield* prepared(given)
      if (signal.aborted) return { kind: "aborted" }
      const changed = smaller.request.messages.some((message, index) => message !== input.request.messages[index])
      input = smaller
      if (changed) continue
    }
    const { reliefFor, reliefNotice } = await import("./request-relief.ts")
    const relief = reliefFor(failure, input.request)
    if (relief !== undefined && !input.known.has(relief)) {
      input.known.add(relief)
      const text = reliefNotice(relief, failure)
      if (text !== undefined) yield { type: "notice", text }
      continue
    }
    const room = failure.availableOutputTokens
    if (room !== undefined && outputCap === undefined) {
      outputCap = Math.max(1, room - OUTPUT_MARGIN)
      continue
    }
    const alternative = await route.alternative(failure)
    if (alternative !== undefined) return { kind: "alternative", route: alternative }
    if (failure.usedUpSeconds !== undefined) guard?.record(failure.usedUpSeconds)
    if (givesUp(failure, { attempt, anotherKey: recovery.kind === "wait", ...input })) {
      if (failure.connectionLost === true && !reconnected && route.reconnect !== undefined) {
        reconnected = true
        yield* wait(failure, attempt, { ...input, delayMs: reconnectDelayMs(attempt) })
        if (signal.aborted) return { kind: "aborted" }
        route.reconnect()
        continue
      }
      // Only the conversation itself can be made shorter, and that is the caller's business; another model would not be shorter.
      const mayFallBack = !failure.compress && (failure.fallback || failure.retryable)
      const outlived = failure.reason === "auth" && (refreshed.size > 0 || rotated)
      const last = withHint(failure, input.clock.now() - askedAt)
      return { kind: "failed", failure: outlived ? { ...last, reason: "auth_permanent" } : last, mayFallBack }
    }
    yield* wait(failure, attempt, input)
    if (signal.aborted) return { kind: "aborted" }
    attempt += 1
  }
}

async function* prepared(input: RouteInput): AsyncGenerator<ModelEvent, RouteInput, void> {
  const { route, request, signal } = input
  if (route.prepare === undefined) return input
  const ready = await route.prepare({ ...request, model: route.runtime.model }, signal)
  if (ready.notice !== undefined && !signal.aborted) yield { type: "notice", text: ready.notice }
  return { ...input, request: ready.request }
}

/**
 * Reasoning that its own server does not want back is not kept as text to send: another one, which wants the text of all earlier
 * replies, would be given thoughts that are not its own. What people see of it stays.
 */
function withOwnEcho(reply: ModelReply, { codec, runtime }: Route): ModelReply {
  if (reply.carriers.reasoning_content === undefined || codec.echoesReasoning?.(runtime.model) !== false) return reply
  const { reasoning_content: _foreign, ...carriers } = reply.carriers
  return { ...reply, carriers }
}

const OUTPUT_MARGIN = 64

const CUT_CALL = "the connection was lost inside a tool call; nothing of it was run, the model is asked again"

/** A server that went away is given a moment to come back. */
function reconnectDelayMs(attempt: number): number {
  return 1000 * Math.min(3 + attempt, 8)
}

function withHint(failure: LlmFailure, elapsedMs: number): LlmFailure {
  const hint = causeHint(failure, elapsedMs)
  return hint === undefined ? failure : { ...failure, message: `${failure.message} (${hint})` }
}

async function requestFor({ request, route, known }: RouteInput, outputCap: number | undefined): Promise<ModelRequest> {
  const whole = { ...request, model: route.runtime.model }
  const lighter = known.size === 0 ? whole : (await import("./request-relief.ts")).relieved(whole, known)
  return outputCap === undefined ? lighter : { ...lighter, maxOutputTokens: outputCap }
}

function givesUp(
  failure: LlmFailure,
  state: Pick<RouteInput, "canFallBack" | "maxAttempts"> & { readonly attempt: number; readonly anotherKey: boolean },
): boolean {
  if (!failure.retryable || failure.compress || state.attempt >= state.maxAttempts) return true
  // Where somebody else can answer at once, nobody waits for a limit to pass or for nonsense to turn into sense.
  const hopeless = failure.reason === "rate_limit" || failure.reason === "billing" || failure.invalidReply === true
  return hopeless && state.canFallBack && !state.anotherKey
}

function rotation(failure: LlmFailure, label: string, { route }: RouteInput): ModelEvent {
  const text = `${failure.message}; going on with the key "${label}"`
  return { type: "switch", kind: "rotate", text, runtime: route.runtime }
}

async function* wait(
  failure: LlmFailure,
  attempt: number,
  input: RouteInput & { readonly delayMs?: number },
): AsyncGenerator<ModelEvent, void, void> {
  const pace = failure.invalidReply === true ? { baseMs: 5000, maxMs: 120_000 } : { baseMs: 2000, maxMs: 60_000 }
  const delayMs =
    input.delayMs ?? failure.retryAfterMs ?? backoffMs({ attempt, ...pace, ratio: 0.5, random: input.random })
  const text = `${failure.message}; trying again in ${(delayMs / 1000).toFixed(1)} s`
  yield { type: "retry", attempt, delayMs, reason: failure.reason, text }
  try {
    await input.clock.sleep(delayMs, { signal: input.signal })
  } catch (error) {
    if (!isAbort(error)) throw error
  }
}

/** Every key rests or was refused for good. */
function noKeyLeft({ route, clock }: RouteInput): LlmFailure {
  const { provider } = route.runtime
  const next = route.credentials.nextAvailableAt()
  const now = clock.now() / 1000
  const message =
    next === undefined
      ? `every key of ${provider} was refused; \`hermes auth list ${provider}\` shows why, \`hermes auth add ${provider}\` adds another`
      : `every key of ${provider} is resting; the next one is free in ${compactDuration(Math.ceil(next - now))}. \`hermes auth list ${provider}\` shows why, \`hermes auth reset ${provider}\` lets them be tried at once`
  return limited(message, next)
}

/** Another process was told so a moment ago; asking again would only make it last longer. */
function usedUp({ route, clock }: RouteInput, until: number): LlmFailure {
  const { provider } = route.runtime
  const left = compactDuration(Math.ceil(until - clock.now() / 1000))
  return limited(`the limit of ${provider} is used up for another ${left}; wait, or choose another model`, until)
}

function limited(message: string, resetAt: number | undefined): LlmFailure {
  return {
    reason: "rate_limit",
    status: null,
    message,
    detail: "",
    retryable: false,
    compress: false,
    rotateCredential: false,
    fallback: true,
    ...(resetAt === undefined ? {} : { resetAt }),
  }
}
