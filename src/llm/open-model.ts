import type { Clock } from "../base/clock.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { ChosenModel } from "./choose-model.ts"
import { singleCredential } from "./credential.ts"
import type { CredentialSource } from "./credential.ts"
import { createAuthoriser } from "./authorise.ts"
import { openHttpConnection } from "./http/http.ts"
import type { LlmFailure } from "./failure/failure.ts"
import type { HttpTimeouts } from "./http/http.ts"
import { createModelClient } from "./model-client.ts"
import type { ModelClient } from "./model.ts"
import { proxyFor } from "./http/proxy.ts"
import type { Route } from "./route.ts"
import type { WirePlace } from "./wire/wire.ts"
import { HTTP_WIRES } from "./wires.ts"
import type { WireSettings } from "./wires.ts"

export interface OpenModelOptions {
  readonly environment: Environment
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
  readonly openRouter: WireSettings["openRouter"]
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

async function openRoute(chosen: ChosenModel, options: OpenModelOptions): Promise<Result<Route>> {
  const { runtime } = chosen
  if (runtime.wire === "in-process") return fail("the demo model cannot stand in for a real one")
  const url = new URL(runtime.baseUrl)
  const proxy = proxyFor(url, { environment: options.environment, local: runtime.billingMode === "local" })
  if (!proxy.ok) return proxy
  const place: WirePlace = {
    provider: runtime.provider,
    baseUrl: runtime.baseUrl,
    host: url.hostname.toLowerCase(),
    contextLength: runtime.contextLength,
  }
  const { extraBody, maxTokensDefault } = chosen
  const codec = await HTTP_WIRES[runtime.wire](place, {
    extraBody,
    guardrail: options.guardrail,
    openRouter: options.openRouter,
    streaming: chosen.streaming !== false,
    includeUsage: chosen.includeUsage !== false,
    ...(maxTokensDefault === undefined ? {} : { maxTokensDefault }),
  })
  return ok({
    runtime,
    codec,
    connection: openHttpConnection(url, proxy.value === undefined ? {} : { proxy: proxy.value }),
    credentials: await credentialsFor(chosen, options),
    headers: {
      "content-type": "application/json",
      accept: codec.framing === "sse" ? "text/event-stream" : "application/vnd.amazon.eventstream",
      "user-agent": `hermes-agent/${options.version}`,
      ...chosen.headers,
    },
    timeouts: timeoutsFor(chosen, options.environment),
    authorise: createAuthoriser(runtime.wire, place, options),
    alternative: (failure) => openAlternative(chosen, failure, options),
  })
}

/** GPT-5 on a server that lacks the Responses wire after all; a place that may not stream, or does not know how to count then. */
async function openAlternative(
  chosen: ChosenModel,
  failure: LlmFailure,
  options: OpenModelOptions,
): Promise<Route | undefined> {
  const { runtime } = chosen
  if (chosen.wireAssumed && failure.status === 404) {
    return await reopened({ ...chosen, wireAssumed: false, runtime: { ...runtime, wire: "chat_completions" } }, options)
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

const CONNECT_MS = 30_000
const FIRST_BYTE_MS = 120_000
const STALE_STREAM_MS = 180_000

/** A local server may think for minutes before its first word; a cloud that is silent that long is gone. */
function timeoutsFor({ runtime }: ChosenModel, environment: Environment): HttpTimeouts {
  if (runtime.billingMode === "local") return { connectMs: 2 * CONNECT_MS, idleMs: 0 }
  const seconds = Number(environment.get("HERMES_STREAM_STALE_TIMEOUT") ?? "")
  const idleMs = seconds > 0 ? seconds * 1000 : STALE_STREAM_MS
  return { connectMs: CONNECT_MS, firstByteMs: Math.max(FIRST_BYTE_MS, idleMs), idleMs }
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
