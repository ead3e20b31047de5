import { isAbort } from "../base/abort.ts"
import type { Clock } from "../base/clock.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Logger } from "../base/logger.ts"
import { explainSystemError } from "../base/system-error.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { ChosenModel } from "./choose-model.ts"
import { rememberWindow } from "./catalog/window-cache.ts"
import { singleCredential } from "./credential.ts"
import type { CredentialSource } from "./credential.ts"
import type { RunProgram } from "./aws/identity.ts"
import { createAuthoriser } from "./authorise.ts"
import { createConnections } from "./http/connections.ts"
import type { Connections } from "./http/connections.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { RateLimits } from "./failure/rate-limit-headers.ts"
import { requestTimeouts } from "./http/request-timeouts.ts"
import { createModelClient } from "./model-client.ts"
import type { ModelClient, ModelRuntime } from "./model.ts"
import { findProvider } from "./providers.ts"
import type { RateLimitGuard, Route } from "./route.ts"
import { imagesIn } from "./request-size.ts"
import type { ImageDescriber } from "./vision/image-describer.ts"
import type { ImagePreparation } from "./vision/prepare-images.ts"
import type { WirePlace } from "./wire/wire.ts"
import { HTTP_WIRES } from "./wires.ts"
import type { WireSettings } from "./wires.ts"

export interface OpenModelOptions {
  readonly environment: Environment
  /** Where it is kept what servers say about windows and limits. */
  readonly home: Home
  readonly log: Logger
  readonly userHome: string
  readonly clock: Clock
  readonly random: () => number
  readonly maxAttempts: number
  readonly version: string
  /** Keys and logins of a provider that are managed in auth.json; undefined where there are none. */
  readonly pool: (provider: string) => Promise<CredentialSource | undefined>
  /** In order; chosen when they are needed. */
  readonly fallbacks: readonly { readonly name: string; choose(): Result<ChosenModel, { readonly message: string }> }[]
  readonly guardrail: Readonly<Record<string, unknown>>
  readonly awsRegion: string
  /** Starts a program that AWS settings name; only src/exec starts processes. */
  readonly runProgram?: RunProgram
  /** Told keys that became known after the start, so that they are masked wherever they turn up. */
  readonly learnSecrets?: (values: readonly string[]) => void
  readonly openRouter: WireSettings["openRouter"]
  /** Who describes images to a model that sees none; absent for side jobs, which would describe for themselves. */
  readonly images?: ImageDescriber
  /** The parsed HERMES_DEMO_SCRIPT, for the demo model. */
  readonly demoScript?: unknown
}

/** The client for a chosen model. Only the code of the wires that are really spoken is loaded. */
export async function openModel(chosen: ChosenModel, options: OpenModelOptions): Promise<Result<ModelClient>> {
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
const MOST_STREAM_RETRIES = 10

function streamRetries(environment: Environment): number {
  const told = environment.get("HERMES_STREAM_RETRIES")?.trim() ?? ""
  return /^\d{1,3}$/.test(told) ? Math.min(Number(told), MOST_STREAM_RETRIES) : STREAM_RETRIES
}

async function openRoute(chosen: ChosenModel, options: OpenModelOptions): Promise<Result<Route>> {
  const { runtime } = chosen
  if (runtime.wire === "in-process") return fail("the demo model cannot stand in for a real one")
  const connections = createConnections(runtime, { ...options, authorities: chosen.authorities })
  if (!connections.ok) return connections
  return ok(
    await routeFor(
      { ...chosen, runtime: { ...runtime, wire: runtime.wire } },
      {
        connections: connections.value,
        credentials: await credentialsFor(chosen, options),
        images: latePreparation(chosen, options.images),
        limits: { last: {} },
        nextRequest: { at: 0 },
      },
      options,
    ),
  )
}

/** What a route keeps when something about its model becomes known. */
interface Held {
  readonly connections: Connections
  readonly credentials: CredentialSource
  /** What is known about the images this place takes; its code is loaded with the first image. */
  readonly images: () => Promise<ImagePreparation>
  /** What the server said about its limits with its last answer that named any. */
  readonly limits: { last: RateLimits }
  /** Epoch milliseconds before which nothing is sent. */
  readonly nextRequest: { at: number }
}

async function routeFor(chosen: RemoteModel, held: Held, options: OpenModelOptions): Promise<Route> {
  const { runtime, extraBody, maxTokensDefault } = chosen
  const place: WirePlace = {
    provider: runtime.provider,
    baseUrl: runtime.baseUrl,
    host: new URL(runtime.baseUrl).hostname.toLowerCase(),
    contextLength: runtime.contextLength,
  }
  const codec = await HTTP_WIRES[runtime.wire](place, {
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
    credentials: held.credentials,
    // An address that a person named is theirs to choose; else a login goes where it was issued for.
    connectionFor: (credential) => held.connections.to(chosen.ownAddress ? credential?.baseUrl : undefined),
    close: () => {
      held.connections.close()
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
    authorise: createAuthoriser(runtime.wire, place, options),
    alternative: (failure) => openAlternative(chosen, failure, options),
    withWindow: (tokens) =>
      routeFor({ ...chosen, windowIsGuess: false, runtime: { ...runtime, contextLength: tokens } }, held, options),
    windowIsGuess: chosen.windowIsGuess,
    servedWindow: async ({ signal, thorough }) => {
      const mayBeOllama =
        runtime.billingMode === "local" && (thorough || URL.parse(runtime.baseUrl)?.port === OLLAMA_PORT)
      if (!mayBeOllama) return undefined
      const { askOllama } = await import("./local/local-servers.ts")
      return await askOllama(runtime, { signal, ...(chosen.key === undefined ? {} : { key: chosen.key }) })
    },
    askWindow: async (signal) => {
      if (!chosen.windowIsGuess) return undefined
      const { askWindow } = await import("./catalog/ask-window.ts")
      return await askWindow(chosen, { ...options, signal })
    },
    rememberWindow: (tokens) => {
      rememberFor(runtime, tokens, options)
    },
    prepare: async (request, signal) => {
      if (!request.messages.some((message) => imagesIn(message) > 0)) return { request }
      return await (await held.images()).prepare(request, { signal, textResults: codec.textResults === true })
    },
    ...(chosen.gapSeconds === undefined ? {} : { takeTurn: paced(chosen.gapSeconds, held.nextRequest, options.clock) }),
    rateLimits: () => held.limits.last,
    noteRateLimits: (limits) => {
      if (Object.keys(limits).length > 0) held.limits.last = limits
    },
    learnImageLimit: async (limit) => (await held.images()).learn(limit),
    // An aggregator is asked through many servers as it is.
    ...(findProvider(runtime.provider)?.aggregator === true ? {} : { reconnect: () => held.connections.close() }),
    ...(SHARES_LIMITS.has(runtime.provider) ? { guard: await openGuard(runtime.provider, options) } : {}),
  }
}

/** Whoever comes takes the next free moment at once, so that requests side by side keep their distance too. */
function paced(gapSeconds: number, next: Held["nextRequest"], clock: Clock): NonNullable<Route["takeTurn"]> {
  return async (signal) => {
    const now = clock.now()
    const at = Math.max(now, next.at)
    next.at = at + gapSeconds * 1000
    if (at === now) return
    try {
      await clock.sleep(at - now, { signal })
    } catch (error) {
      if (!isAbort(error)) throw error
    }
  }
}

const OLLAMA_PORT = "11434"

function latePreparation(chosen: ChosenModel, describer: ImageDescriber | undefined): Held["images"] {
  let opening: Promise<ImagePreparation> | undefined
  const open = async (): Promise<ImagePreparation> => {
    const { createImagePreparation } = await import("./vision/prepare-images.ts")
    return createImagePreparation(chosen, describer)
  }
  return () => (opening ??= open())
}

type RemoteModel = ChosenModel & { readonly runtime: { readonly wire: keyof typeof HTTP_WIRES } }

/** Providers whose limit belongs to the account and says when it ends. */
const SHARES_LIMITS: ReadonlySet<string> = new Set(["nous"])

async function openGuard(provider: string, options: OpenModelOptions): Promise<RateLimitGuard> {
  const { openRateLimitGuard } = await import("./failure/rate-limit-guard.ts")
  return openRateLimitGuard(provider, options)
}

/** Forgetting is harmless: the server says it again. */
function rememberFor({ model, baseUrl }: ModelRuntime, tokens: number, { home, log }: OpenModelOptions): void {
  try {
    rememberWindow(home, { model, baseUrl, tokens })
  } catch (error) {
    log.warning(`the window of ${model} could not be remembered: ${explainSystemError(error)}`)
  }
}

/** A login without the longer context; GPT-5 on a server that lacks the Responses wire after all; a place that may not stream, or does not know how to count then. */
async function openAlternative(
  chosen: ChosenModel,
  failure: LlmFailure,
  options: OpenModelOptions,
): Promise<Route | undefined> {
  const { runtime } = chosen
  if (chosen.wireAssumed && failure.status === 404) {
    return await reopened({ ...chosen, wireAssumed: false, runtime: { ...runtime, wire: "chat_completions" } }, options)
  }
  if (failure.reason === "oauth_long_context_beta_forbidden" && chosen.longContext !== false) {
    const contextLength = Math.min(runtime.contextLength, USUAL_CONTEXT)
    return await reopened({ ...chosen, longContext: false, runtime: { ...runtime, contextLength } }, options)
  }
  if (chosen.streaming === false || failure.status === null) return undefined
  const said = `${failure.message} ${failure.detail}`
  if (runtime.wire === "bedrock_converse") {
    const { deniesStreaming } = await import("./wire/bedrock-converse.ts")
    return deniesStreaming({ status: failure.status, body: said })
      ? await reopened({ ...chosen, streaming: false }, options)
      : undefined
  }
  if (runtime.wire !== "chat_completions" || failure.status !== 400) return undefined
  if (chosen.includeUsage !== false && said.includes("stream_options"))
    return await reopened({ ...chosen, includeUsage: false }, options)
  return REFUSES_STREAMS.test(said) ? await reopened({ ...chosen, streaming: false }, options) : undefined
}

/** What Claude reads where the longer context is not given. */
const USUAL_CONTEXT = 200_000

const REFUSES_STREAMS = /\bstream(?:ing)?\b[^.]{0,40}\b(?:not supported|unsupported|not allowed)/i

async function reopened(chosen: ChosenModel, options: OpenModelOptions): Promise<Route | undefined> {
  const route = await openRoute(chosen, options)
  return route.ok ? route.value : undefined
}

async function credentialsFor(
  { runtime, key, managed }: ChosenModel,
  options: OpenModelOptions,
): Promise<CredentialSource> {
  const pool = managed ? await options.pool(runtime.provider) : undefined
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
