import { isAbort } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import { compactDuration } from "../base/compact-count.ts"
import { backoffMs } from "./backoff.ts"
import { withUniqueCallIds } from "./call-ids.ts"
import { recoverCredential } from "./credentials/recover-credential.ts"
import { exchange } from "./exchange.ts"
import type { Attempt } from "./exchange.ts"
import type { LlmFailure } from "./failure/failure.ts"
import { causeHint } from "./failure/failure-message.ts"
import type { ModelEvent, ModelOutcome, ModelReply, ModelRequest } from "./model.ts"
import type { Downgrade } from "./request-downgrade.ts"
import { approxRequestTokens, hasImages } from "./request-size.ts"
import type { Route } from "./route.ts"

export interface RouteInput {
  readonly route: Route
  readonly request: ModelRequest
  /** The ids of all calls in the request. */
  readonly usedCallIds: ReadonlySet<string>
  readonly signal: AbortSignal
  /** What to leave out because this server refused it before; new refusals are added. */
  readonly downgrades: Set<Downgrade>
  readonly canFallBack: boolean
  /** See `StreamOptions`. */
  readonly auxiliary: boolean
  /** Attempts before a temporary failure becomes final, including the first. */
  readonly maxAttempts: number
  /** Immediate retries of a stream whose connection broke before any text was shown. */
  readonly streamRetries: number
  /** Whether one more attempt over a new connection follows when all attempts lost the connection. */
  readonly mayReconnect: boolean
  readonly clock: Clock
  readonly random: () => number
}

export type RouteOutcome =
  | Exclude<ModelOutcome, { kind: "failed" }>
  | { readonly kind: "failed"; readonly failure: LlmFailure; readonly mayFallBack: boolean }
  /** The route was reopened without a feature that the endpoint refused. */
  | { readonly kind: "reopened"; readonly route: Route }

/**
 * Sends a request over one route until it succeeds or no recovery is left. Depending on the failure, the next attempt uses the same
 * credential after a wait, another credential, smaller images, a downgraded request, or a lower output limit.
 */
export async function* sendWithRetries(original: RouteInput): AsyncGenerator<ModelEvent, RouteOutcome, void> {
  const { route, signal } = original
  const { credentials, guard } = route
  const blockedUntil = guard?.blockedUntil()
  if (blockedUntil !== undefined)
    return { kind: "failed", failure: limitUsedUp(original, blockedUntil), mayFallBack: true }
  let credential = await credentials.select()
  if (credential === undefined && credentials.size() > 0)
    return { kind: "failed", failure: noCredentialLeft(original), mayFallBack: true }
  let input = yield* prepareRequest(original)
  if (signal.aborted) return { kind: "aborted" }
  const approxTokens = approxRequestTokens(input.request)
  const rateLimited = new Set<string>()
  const refreshed = new Set<string>()
  let rotated = false
  let outputCap: number | undefined
  let droppedStreams = 0
  let reconnected = !input.mayReconnect
  let imagesShrunk = false
  for (let attempt = 1; ;) {
    await route.waitForSlot?.(signal)
    const sentAt = input.clock.now()
    const result: Attempt = yield* exchange({
      route,
      request: await requestFor(input, outputCap),
      credential,
      signal,
      approxTokens,
      now: sentAt,
    })
    if (signal.aborted) return { kind: "aborted" }
    if (result.dropped === true && droppedStreams < input.streamRetries) {
      droppedStreams += 1
      if (result.kind === "reply") yield { type: "notice", text: LOST_TOOL_CALL }
      continue
    }
    if (result.kind === "reply") {
      guard?.clear()
      const reply = withoutUnwantedEcho(result.reply, route)
      const { usedCallIds: used, random } = original
      return { kind: "reply", reply: withUniqueCallIds(reply, { used, random }) }
    }
    const { failure } = result
    if (result.shown) return { kind: "failed", failure, mayFallBack: false }

    const recovery = await recoverCredential({
      ...route.runtime,
      failure,
      credential,
      credentials,
      rateLimited,
      refreshed,
      signal,
    })
    if (recovery.kind === "use") {
      if (recovery.credential.id !== credential?.id) {
        rotated = true
        yield rotationEvent(failure, recovery.credential.label, input)
      }
      credential = recovery.credential
      continue
    }
    const refusesImages = failure.refusesImages === true && hasImages(input.request.messages)
    if (refusesImages && (await route.describeImages?.(original.request)) === true) {
      input = yield* prepareRequest(original)
      if (signal.aborted) return { kind: "aborted" }
      continue
    }
    const { imageLimit } = failure
    if (imageLimit !== undefined && !imagesShrunk && (await route.lowerImageLimit?.(imageLimit)) === true) {
      imagesShrunk = true
      const smaller = yield* prepareRequest(original)
      if (signal.aborted) return { kind: "aborted" }
      const changed = smaller.request.messages.some((message, index) => message !== input.request.messages[index])
      input = smaller
      if (changed) continue
    }
    const { downgradeFor, downgradeNotice } = await import("./request-downgrade.ts")
    const downgrade = downgradeFor(failure, input.request)
    // Without its image, an auxiliary task would get an answer about nothing; another model may accept the image.
    const isUseless = downgrade === "images" && input.auxiliary
    if (downgrade !== undefined && !isUseless && !input.downgrades.has(downgrade)) {
      input.downgrades.add(downgrade)
      const text = downgradeNotice(downgrade, failure)
      if (text !== undefined) yield { type: "notice", text }
      continue
    }
    const { availableOutputTokens } = failure
    if (availableOutputTokens !== undefined && outputCap === undefined) {
      outputCap = Math.max(1, availableOutputTokens - OUTPUT_MARGIN)
      continue
    }
    const reopened = await route.withoutRefusedFeature(failure)
    if (reopened !== undefined) return { kind: "reopened", route: reopened }
    if (failure.limitExhaustedSeconds !== undefined) guard?.record(failure.limitExhaustedSeconds)
    if (shouldGiveUp(failure, { attempt, sameCredential: recovery.kind === "wait", ...input })) {
      if (failure.connectionLost === true && !reconnected && route.reconnect !== undefined) {
        reconnected = true
        yield* wait(failure, attempt, { ...input, delayMs: reconnectDelayMs(attempt) })
        if (signal.aborted) return { kind: "aborted" }
        route.reconnect()
        continue
      }
      // The caller has to shorten the conversation; falling back to another model does not shorten it.
      const mayFallBack = !failure.compress && (failure.fallback || failure.retryable)
      const permanent = failure.reason === "auth" && (refreshed.size > 0 || rotated)
      const last = withHint(failure, input.clock.now() - sentAt)
      return { kind: "failed", failure: permanent ? { ...last, reason: "auth_permanent" } : last, mayFallBack }
    }
    yield* wait(failure, attempt, input)
    if (signal.aborted) return { kind: "aborted" }
    attempt += 1
  }
}

async function* prepareRequest(input: RouteInput): AsyncGenerator<ModelEvent, RouteInput, void> {
  const { route, request, signal } = input
  if (route.prepare === undefined) return input
  const ready = await route.prepare({ ...request, model: route.runtime.model }, signal)
  if (ready.notice !== undefined && !signal.aborted) yield { type: "notice", text: ready.notice }
  return { ...input, request: ready.request }
}

/**
 * Drops `reasoning_content` when the wire never sends it back. Otherwise a fallback model whose wire does send it would receive
 * reasoning that it did not produce. The displayed reasoning stays.
 */
function withoutUnwantedEcho(reply: ModelReply, { codec, runtime }: Route): ModelReply {
  if (reply.carriers.reasoning_content === undefined || codec.echoesReasoning?.(runtime.model) !== false) return reply
  const { reasoning_content: _dropped, ...carriers } = reply.carriers
  return { ...reply, carriers }
}

const OUTPUT_MARGIN = 64

const LOST_TOOL_CALL = "the connection was lost during a tool call; the call was not run, retrying"

/** Gives a server that went away time to come back. */
function reconnectDelayMs(attempt: number): number {
  return 1000 * Math.min(3 + attempt, 8)
}

function withHint(failure: LlmFailure, elapsedMs: number): LlmFailure {
  const hint = causeHint(failure, elapsedMs)
  return hint === undefined ? failure : { ...failure, message: `${failure.message} (${hint})` }
}

async function requestFor(
  { request, route, downgrades }: RouteInput,
  outputCap: number | undefined,
): Promise<ModelRequest> {
  const full = { ...request, model: route.runtime.model }
  const accepted =
    downgrades.size === 0 ? full : (await import("./request-downgrade.ts")).applyDowngrades(full, downgrades)
  return outputCap === undefined ? accepted : { ...accepted, maxOutputTokens: outputCap }
}

function shouldGiveUp(
  failure: LlmFailure,
  state: Pick<RouteInput, "canFallBack" | "maxAttempts"> & {
    readonly attempt: number
    /** The credential recovery asked for a retry with the same credential. */
    readonly sameCredential: boolean
  },
): boolean {
  if (!failure.retryable || failure.compress || state.attempt >= state.maxAttempts) return true
  // A fallback can reply at once, so do not wait for a rate limit to pass or for invalid replies to become valid.
  const unlikelyToPass =
    failure.reason === "rate_limit" || failure.reason === "billing" || failure.invalidReply === true
  return unlikelyToPass && state.canFallBack && !state.sameCredential
}

function rotationEvent(failure: LlmFailure, label: string, { route }: RouteInput): ModelEvent {
  const text = `${failure.message}; switching to the key "${label}"`
  return { type: "switch", kind: "rotate", text, runtime: route.runtime }
}

async function* wait(
  failure: LlmFailure,
  attempt: number,
  input: RouteInput & { readonly delayMs?: number },
): AsyncGenerator<ModelEvent, void, void> {
  const backoff = failure.invalidReply === true ? { baseMs: 5000, maxMs: 120_000 } : { baseMs: 2000, maxMs: 60_000 }
  const delayMs =
    input.delayMs ?? failure.retryAfterMs ?? backoffMs({ attempt, ...backoff, ratio: 0.5, random: input.random })
  const text = `${failure.message}; retrying in ${(delayMs / 1000).toFixed(1)} s`
  yield { type: "retry", attempt, delayMs, reason: failure.reason, text }
  try {
    await input.clock.sleep(delayMs, { signal: input.signal })
  } catch (error) {
    if (!isAbort(error)) throw error
  }
}

/** Every credential is in cooldown or was refused permanently. */
function noCredentialLeft({ route, clock }: RouteInput): LlmFailure {
  const { provider } = route.runtime
  const next = route.credentials.nextAvailableAt()
  const now = clock.now() / 1000
  const message =
    next === undefined
      ? `every key of ${provider} was refused; \`hermes auth list ${provider}\` shows why, \`hermes auth add ${provider}\` adds another`
      : `every key of ${provider} is in cooldown; the next one is available in ${compactDuration(Math.ceil(next - now))}. \`hermes auth list ${provider}\` shows why, \`hermes auth reset ${provider}\` clears the cooldowns`
  return rateLimitFailure(message, next)
}

/** Another process recorded the limit; sending more requests could extend it. */
function limitUsedUp({ route, clock }: RouteInput, until: number): LlmFailure {
  const { provider } = route.runtime
  const left = compactDuration(Math.ceil(until - clock.now() / 1000))
  return rateLimitFailure(
    `the rate limit of ${provider} is used up for another ${left}; wait, or choose another model`,
    until,
  )
}

function rateLimitFailure(message: string, resetAt: number | undefined): LlmFailure {
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
