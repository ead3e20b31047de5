import { assertNever } from "../../base/assert-never.ts"
import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { errorCode, explainSystemError } from "../../base/system-error.ts"
import { windowInMetadata } from "./context-window.ts"
import { openHttpConnection } from "../http/http-connection.ts"
import type { ConnectionSettings } from "../http/http-connection.ts"
import { requestJson } from "../http/http-json.ts"
import type { WireName } from "../model.ts"
import { keyHeaders } from "../authorise.ts"
import { usesCloudIdentity } from "../provider.ts"
import { findProvider } from "../providers.ts"
import { parsePrice, parsePricePerToken, parseRequestPrice, type Prices } from "./prices.ts"

/** A model as its own endpoint lists it. */
export interface ListedModel {
  readonly id: string
  readonly contextLength?: number
  readonly prices?: Prices
}

export interface ModelListEndpoint {
  readonly provider?: string
  readonly wire: WireName
  readonly baseUrl: string
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly connectionSettings?: ConnectionSettings
  /** False when the settings forbid requesting the list. */
  readonly discoverModels?: false | undefined
}

const TOTAL_MS = 8000

/** What an endpoint replied to the request for its model list. */
export type ModelListReply =
  | { readonly kind: "listed"; readonly models: readonly ListedModel[] }
  /** Any status other than 200. */
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "not-a-list" }
  /** `code` is the code of the system error, if there is one. */
  | { readonly kind: "no-reply"; readonly reason: string; readonly code: string | undefined }
  /** The request was not sent. */
  | { readonly kind: "not-sent"; readonly reason: string }

export type ModelListFailure = Exclude<ModelListReply, { kind: "listed" }>

interface RequestOptions {
  readonly version: string
  readonly signal: AbortSignal
  readonly background?: boolean
}

/** Fetches the model list of an endpoint. The failure text ends a sentence that begins with the provider's name. */
export async function fetchModelList(
  endpoint: ModelListEndpoint,
  options: RequestOptions,
): Promise<Result<readonly ListedModel[]>> {
  const reply = await requestModelList(endpoint, options)
  return reply.kind === "listed" ? ok(reply.models) : fail(listProblem(reply))
}

/** The end of a sentence that begins with the provider's name. */
export function listProblem(reply: ModelListFailure): string {
  switch (reply.kind) {
    case "status":
      return isKeyProblem(reply.status) ? "refuses the key" : `responded with HTTP ${reply.status}`
    case "not-a-list":
      return "did not return a model list"
    case "no-reply":
    case "not-sent":
      return reply.reason
    default:
      return assertNever(reply)
  }
}

export function isKeyProblem(status: number): boolean {
  return status === 401 || status === 403
}

export async function requestModelList(endpoint: ModelListEndpoint, options: RequestOptions): Promise<ModelListReply> {
  if (endpoint.discoverModels === false)
    return {
      kind: "not-sent",
      reason: "is not queried for its models, because discover_models is false in config.yaml",
    }
  const path = modelListPath(endpoint, endpoint.discoverModels)
  if (path === undefined) return { kind: "not-sent", reason: "has no model list" }
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(TOTAL_MS)])
  const connection = openHttpConnection(new URL(endpoint.baseUrl), {
    ...endpoint.connectionSettings,
    ...(options.background === true ? { background: true } : {}),
  })
  try {
    const { status, json } = await requestJson(connection, {
      path,
      headers: { "user-agent": `hermes-agent/${options.version}`, ...listHeaders(endpoint), ...endpoint.headers },
      timeouts: { connectMs: TOTAL_MS, idleMs: TOTAL_MS },
      signal,
    })
    if (status !== 200) return { kind: "status", status }
    const models = parseModelList(json)
    return models === undefined ? { kind: "not-a-list" } : { kind: "listed", models }
  } catch (error) {
    const reason = options.signal.aborted
      ? "did not respond before the request was cancelled"
      : signal.aborted
        ? `did not respond within ${TOTAL_MS / 1000} s`
        : `does not respond (${explainSystemError(error)})`
    return { kind: "no-reply", reason, code: signal.aborted ? undefined : errorCode(error) }
  } finally {
    connection.close()
  }
}

/** The path of an endpoint's model list; undefined where it has none, or where the settings forbid requesting it. */
export function modelListPath(
  { provider: name = "", wire }: Pick<ModelListEndpoint, "provider" | "wire">,
  discoverModels: false | undefined,
): string | undefined {
  const provider = findProvider(name)
  if (discoverModels === false || (provider !== undefined && usesCloudIdentity(provider))) return undefined
  return listPath(wire)
}

/** Parses the list formats of all vendors; undefined when it is not a list. Entries without a name are left out. */
export function parseModelList(json: unknown): readonly ListedModel[] | undefined {
  const entries = Array.isArray(json) ? json : isRecord(json) ? (json["data"] ?? json["models"]) : undefined
  if (!Array.isArray(entries)) return undefined
  return entries.flatMap((entry: unknown): ListedModel[] => {
    const id = stringField(entry, "id") ?? stringField(entry, "name")?.replace(/^models\//, "")
    if (!isRecord(entry) || id === undefined || id === "") return []
    const window = windowInMetadata(entry) ?? windowInMetadata({ context_length: entry["inputTokenLimit"] })
    const prices = listedPrices(entry["pricing"])
    return [
      {
        id,
        ...(window === undefined ? {} : { contextLength: window }),
        ...(prices === undefined ? {} : { prices }),
      },
    ]
  })
}

function listPath(wire: WireName): string | undefined {
  switch (wire) {
    case "chat_completions":
    case "codex_responses":
      return "/models"
    case "anthropic_messages":
      return "/v1/models?limit=1000"
    case "gemini_native":
      return "/models?pageSize=1000"
    default:
      return undefined
  }
}

function listHeaders({ provider = "", wire, key }: ModelListEndpoint): Readonly<Record<string, string>> {
  const version: Record<string, string> = wire === "anthropic_messages" ? { "anthropic-version": "2023-06-01" } : {}
  if (key === undefined) return version
  if (wire === "gemini_native") return { "x-goog-api-key": key }
  if (wire !== "anthropic_messages") return keyHeaders(findProvider(provider), key)
  const bearer = key.startsWith("sk-ant-api") ? {} : { authorization: `Bearer ${key}` }
  return { ...version, ...bearer, "x-api-key": key }
}

/** No model costs this much for one token, so a list with such a price has prices per million tokens. */
const IMPLAUSIBLE_USD_PER_TOKEN = 0.005

/** Parses prices in USD per token or per million tokens, under the field names that aggregators use. */
function listedPrices(pricing: unknown): Prices | undefined {
  if (!isRecord(pricing)) return undefined
  const value = (...names: readonly string[]): string | number | null => {
    const found = names.map((name) => pricing[name]).find((entry) => entry !== undefined && entry !== null)
    return typeof found === "string" || typeof found === "number" ? found : null
  }
  const perMillion = [value("prompt", "input"), value("completion", "output")].some(
    (found) => Number(found ?? 0) >= IMPLAUSIBLE_USD_PER_TOKEN,
  )
  const parse = perMillion ? parsePrice : parsePricePerToken
  const price = (...names: readonly string[]): ReturnType<typeof parse> => parse(value(...names))
  const [input, output] = [price("prompt", "input"), price("completion", "output")]
  if (input === null && output === null) return undefined
  const { request } = pricing
  const perRequest = typeof request === "string" || typeof request === "number" ? parseRequestPrice(request) : null
  return {
    input,
    output,
    cacheRead: price("cache_read", "cached_prompt", "input_cache_read"),
    cacheWrite: price("cache_write", "cache_creation", "input_cache_write"),
    ...(perRequest === null ? {} : { request: perRequest }),
    source: "provider",
    version: "models list",
  }
}
