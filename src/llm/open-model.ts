import { isAbort } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import { lazy } from "../base/lazy.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Logger } from "../base/logger.ts"
import { explainSystemError } from "../base/system-error.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { ChosenModel } from "./choose-model.ts"
import { rememberWindow } from "./catalog/context-window-cache.ts"
import { singleCredential } from "./credential.ts"
import type { CredentialOrigin, CredentialSource } from "./credential.ts"
import type { RunProgram } from "./aws/identity.ts"
import { createAuthoriser } from "./authorise.ts"
import type { IdleSockets } from "./http/idle-sockets.ts"
import { createRouteConnections } from "./http/route-connections.ts"
import type { RouteConnections } from "./http/route-connections.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"
import { requestTimeouts } from "./http/request-timeouts.ts"
import { createModelClient } from "./model-client.ts"
import type { ModelClient, ModelRuntime } from "./model.ts"
import { findProvider } from "./providers.ts"
import type { RateLimitGuard, Route } from "./route.ts"
import { hasImages } from "./request-size.ts"
import type { ImageDescriber } from "./vision/image-describer.ts"
import type { ImagePreparation } from "./vision/prepare-images.ts"
import type { WireEndpoint } from "./wire/wire.ts"
import { HTTP_WIRES } from "./wires.ts"
import type { WireSettings } from "./wires.ts"

export interface OpenModelOptions {
  readonly environment: Environment
  /** Holds the caches of context windows and rate limits. */
  readonly home: Home
  readonly log: Logger
  readonly userHome: string
  readonly clock: Clock
  readonly random: () => number
  readonly maxAttempts: number
  readonly version: string
  /** Shared by the clients of an app, which together keep only so many connections open. */
  readonly idleSockets?: IdleSockets
  /** Opens the credential pool of a provider, limited to `origins`; undefined when it has at most one key. */
  readonly pool: (
    provider: string,
    origins: readonly CredentialOrigin[] | undefined,
  ) => Promise<CredentialSource | undefined>
  /** Fallback models in order, resolved only when needed. */
  readonly fallbacks: readonly { readonly name: string; choose(): Result<ChosenModel, { readonly message: string }> }[]
  readonly guardrail: Readonly<Record<string, unknown>>
  readonly awsRegion: string
  /** Runs the program of an AWS `credential_process`; only src/exec may start processes. */
  readonly runProgram?: RunProgram
  /** Receives secrets that were obtained after the start, so that they are redacted from logs and events. */
  readonly registerSecrets?: (values: readonly string[]) => void
  readonly openRouter: WireSettings["openRouter"]
  /** Describes images for a model without vision. Absent for auxiliary models, because the describer uses one itself. */
  readonly images?: ImageDescriber
  /** The parsed HERMES_DEMO_SCRIPT, for the demo model. */
  readonly demoScript?: unknown
}

/** Opens a client for a chosen model and its fallbacks. Loads only the code of the wires in use. */
export async function openModel(chosen: ChosenModel, options: OpenModelOptions): Promise<Result<ModelClient>> {
  if (chosen.problem !== undefined) {
    const { createNoModelClient } = await import("./no-model.ts")
    return ok(createNoModelClient(chosen.problem))
  }
  if (chosen.runtime.wire === "in-process") return await openDemo(options)
  const primary = await openRoute(chosen, options)
  if (!primary.ok) return primary
  return ok(
    createModelClient({
      ...options,
      primary: primary.value,
      streamRetries: streamRetries(options.environment),
      fallbacks: options.fallbacks.map((entry) => ({
        name: entry.name,
        open: async () => {
          const next = entry.choose()
          return next.ok ? await openRoute(next.value, options) : fail(next.error.message)
        },
      })),
    }),
  )
}

const STREAM_RETRIES = 2
const MAX_STREAM_RETRIES = 10

function streamRetries(environment: Environment): number {
  const configured = environment.get("HERMES_STREAM_RETRIES")?.trim() ?? ""
  return /^\d{1,3}$/.test(configured) ? Math.min(Number(configured), MAX_STREAM_RETRIES) : STREAM_RETRIES
}

async function openRoute(chosen: ChosenModel, options: OpenModelOptions): Promise<Result<Route>> {
  const { runtime } = chosen
  if (runtime.wire === "in-process") return fail("the demo model cannot be a fallback")
  const connections = createRouteConnections(runtime, { ...options, caBundle: chosen.caBundle })
  if (!connections.ok) return connections
  return ok(
    await routeFor(
      { ...chosen, runtime: { ...runtime, wire: runtime.wire } },
      {
        connections: connections.value,
        credentials: await credentialsFor(chosen, options),
        images: lazy(() => loadImagePreparation(chosen, options.images)),
        limits: { last: {} },
        nextRequest: { at: 0 },
      },
      options,
    ),
  )
}

/** State that survives when a route is rebuilt, for example with a corrected context window. */
interface RouteState {
  readonly connections: RouteConnections
  readonly credentials: CredentialSource
  /** Converts images for this endpoint; loaded with the first image. */
  readonly images: () => Promise<ImagePreparation>
  /** The rate limits in the last response that had any. */
  readonly limits: { last: RateLimits }
  /** Epoch milliseconds before which no request is sent. */
  readonly nextRequest: { at: number }
}

async function routeFor(chosen: RemoteModel, state: RouteState, options: OpenModelOptions): Promise<Route> {
  const { runtime, extraBody, maxTokensDefault } = chosen
  const endpoint: WireEndpoint = {
    provider: runtime.provider,
    baseUrl: runtime.baseUrl,
    host: new URL(runtime.baseUrl).hostname.toLowerCase(),
    contextLength: runtime.contextLength,
  }
  const codec = await HTTP_WIRES[runtime.wire](endpoint, {
    extraBody,
    guardrail: options.guardrail,
    openRouter: options.openRouter,
    streaming: chosen.streaming !== false,
    includeUsage: chosen.includeUsage !== false,
    longContext: chosen.longContext !== false,
    ...(maxTokensDefault === undefined ? {} : { maxTokensDefault }),
  })
  return {
    runtime,
    codec,
    credentials: state.credentials,
    // A login is sent to the endpoint it was issued for, unless the user configured another address.
    connectionFor: (credential) => state.connections.to(chosen.usesDefaultEndpoint ? credential?.baseUrl : undefined),
    close: () => {
      state.connections.close()
      state.credentials.close?.()
    },
    headers: {
      "content-type": "application/json",
      accept: codec.framing === "sse" ? "text/event-stream" : "application/vnd.amazon.eventstream",
      "user-agent": `hermes-agent/${options.version}`,
      ...chosen.headers,
    },
    timeouts: (approxTokens) =>
      requestTimeouts(
        {
          ...chosen.timeouts,
          wire: runtime.wire,
          local: runtime.billingMode === "local",
          streaming: chosen.streaming !== false,
          environment: options.environment,
        },
        approxTokens,
      ),
    authorise: createAuthoriser(runtime.wire, endpoint, options),
    withoutRefusedFeature: (failure) => openWithoutRefusedFeature(chosen, failure, options),
    withWindow: (tokens) =>
      routeFor({ ...chosen, windowIsGuess: false, runtime: { ...runtime, contextLength: tokens } }, state, options),
    windowIsGuess: chosen.windowIsGuess,
    ollamaWindow: async ({ signal, anyPort }) => {
      const mayBeOllama =
        runtime.billingMode === "local" && (anyPort || URL.parse(runtime.baseUrl)?.port === OLLAMA_PORT)
      if (!mayBeOllama) return undefined
      const { fetchOllamaWindow } = await import("./local/local-servers.ts")
      return await fetchOllamaWindow(runtime, { signal, ...(chosen.key === undefined ? {} : { key: chosen.key }) })
    },
    requestContextWindow: async (signal) => {
      if (!chosen.windowIsGuess) return undefined
      const { requestContextWindow } = await import("./catalog/request-context-window.ts")
      return await requestContextWindow(chosen, { ...options, signal })
    },
    rememberWindow: (tokens) => {
      rememberFor(runtime, tokens, options)
    },
    prepare: async (request, signal) => {
      if (!hasImages(request.messages)) return { request }
      return await (
        await state.images()
      ).prepare(request, { signal, textOnlyToolResults: codec.textOnlyToolResults === true })
    },
    ...(chosen.requestDelaySeconds === undefined
      ? {}
      : { waitForSlot: createPacer(chosen.requestDelaySeconds, state.nextRequest, options.clock) }),
    rateLimits: () => state.limits.last,
    noteRateLimits: (limits) => {
      if (Object.keys(limits).length > 0) state.limits.last = limits
    },
    describeImages: async (request) => await (await state.images()).describeFromNowOn(request),
    lowerImageLimit: async (limit) => (await state.images()).tightenLimits(limit),
    // An aggregator already spreads requests over many servers, so a new connection would not help.
    ...(findProvider(runtime.provider)?.aggregator === true ? {} : { reconnect: () => state.connections.close() }),
    ...(SHARES_LIMITS.has(runtime.provider) ? { guard: await openGuard(runtime.provider, options) } : {}),
  }
}

/** Reserves the next slot before waiting for it, so that concurrent requests keep the delay too. */
function createPacer(
  requestDelaySeconds: number,
  next: RouteState["nextRequest"],
  clock: Clock,
): NonNullable<Route["waitForSlot"]> {
  return async (signal) => {
    const now = clock.now()
    const at = Math.max(now, next.at)
    next.at = at + requestDelaySeconds * 1000
    if (at === now) return
    try {
      await clock.sleep(at - now, { signal })
    } catch (error) {
      if (!isAbort(error)) throw error
    }
  }
}

const OLLAMA_PORT = "11434"

async function loadImagePreparation(
  chosen: ChosenModel,
  describer: ImageDescriber | undefined,
): Promise<ImagePreparation> {
  const { createImagePreparation } = await import("./vision/prepare-images.ts")
  return createImagePreparation(chosen, describer)
}

type RemoteModel = ChosenModel & { readonly runtime: { readonly wire: keyof typeof HTTP_WIRES } }

/** Providers whose rate limit belongs to the account and comes with its end time. */
const SHARES_LIMITS: ReadonlySet<string> = new Set(["nous"])

async function openGuard(provider: string, options: OpenModelOptions): Promise<RateLimitGuard> {
  const { openRateLimitGuard } = await import("./failure/rate-limit-guard.ts")
  return openRateLimitGuard(provider, options)
}

/** A failed write is harmless: the server reports the window again. */
function rememberFor({ model, baseUrl }: ModelRuntime, tokens: number, { home, log }: OpenModelOptions): void {
  try {
    rememberWindow(home, { model, baseUrl, tokens })
  } catch (error) {
    log.warning(`the context window of ${model} could not be saved: ${explainSystemError(error)}`)
  }
}

/**
 * Reopens the route without a feature that the endpoint just refused: the Responses wire that was only assumed for GPT-5, the
 * long-context beta, usage in streams, or streaming itself.
 */
async function openWithoutRefusedFeature(
  chosen: ChosenModel,
  failure: LlmFailure,
  options: OpenModelOptions,
): Promise<Route | undefined> {
  const { runtime } = chosen
  if (chosen.wireAssumed && failure.status === 404) {
    return await reopenRoute(
      { ...chosen, wireAssumed: false, runtime: { ...runtime, wire: "chat_completions" } },
      options,
    )
  }
  if (failure.reason === "oauth_long_context_beta_forbidden" && chosen.longContext !== false) {
    const contextLength = Math.min(runtime.contextLength, STANDARD_CONTEXT)
    return await reopenRoute({ ...chosen, longContext: false, runtime: { ...runtime, contextLength } }, options)
  }
  if (chosen.streaming === false) return undefined
  const isChat = runtime.wire === "chat_completions"
  if (isChat && failure.refusesStreamOptions === true && chosen.includeUsage !== false) {
    return await reopenRoute({ ...chosen, includeUsage: false }, options)
  }
  return failure.refusesStreaming === true && (isChat || runtime.wire === "bedrock_converse")
    ? await reopenRoute({ ...chosen, streaming: false }, options)
    : undefined
}

/** Claude's context window without the long-context beta. */
const STANDARD_CONTEXT = 200_000

async function reopenRoute(chosen: ChosenModel, options: OpenModelOptions): Promise<Route | undefined> {
  const route = await openRoute(chosen, options)
  return route.ok ? route.value : undefined
}

async function credentialsFor(
  { runtime, key, usesPool, poolOrigins }: ChosenModel,
  options: OpenModelOptions,
): Promise<CredentialSource> {
  const pool = usesPool ? await options.pool(runtime.provider, poolOrigins) : undefined
  if (pool !== undefined) return pool
  const { credentialSource } = runtime
  return singleCredential(
    runtime.provider,
    key === undefined
      ? undefined
      : { id: credentialSource, label: credentialSource, secret: key, kind: "api_key", source: credentialSource },
  )
}

async function openDemo(options: OpenModelOptions): Promise<Result<ModelClient>> {
  const { createDemoClient } = await import("./demo/client.ts")
  if (options.demoScript === undefined) return ok(createDemoClient({ clock: options.clock }))
  const { parseDemoScript } = await import("./demo/script.ts")
  const script = parseDemoScript(options.demoScript)
  return script.ok
    ? ok(createDemoClient({ clock: options.clock, script: script.value }))
    : fail(`the demo script cannot be used: ${script.error}`)
}
