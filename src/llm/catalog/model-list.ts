import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { windowInMetadata } from "./context-window.ts"
import { openHttpConnection } from "../http/http-connection.ts"
import type { ConnectionSettings } from "../http/http-connection.ts"
import { requestJson } from "../http/http-json.ts"
import type { WireName } from "../model.ts"
import { parsePricePerToken, parseRequestPrice, type Prices } from "./prices.ts"

/** A model as its own endpoint lists it. */
export interface ListedModel {
  readonly id: string
  readonly contextLength?: number
  readonly prices?: Prices
}

export interface ModelListEndpoint {
  readonly wire: WireName
  readonly baseUrl: string
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly connectionSettings?: ConnectionSettings
  /** False when the settings forbid requesting the list. */
  readonly discoverModels?: false | undefined
}

const TOTAL_MS = 8000

/** Fetches the model list of an endpoint. The failure text ends a sentence that begins with the provider's name. */
export async function fetchModelList(
  endpoint: ModelListEndpoint,
  options: { readonly version: string; readonly signal: AbortSignal; readonly background?: boolean },
): Promise<Result<readonly ListedModel[]>> {
  if (endpoint.discoverModels === false)
    return fail("is not queried for its models, because discover_models is false in config.yaml")
  const path = listPath(endpoint.wire)
  if (path === undefined) return fail("has no model list")
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(TOTAL_MS)])
  const connection = openHttpConnection(new URL(endpoint.baseUrl), {
    ...endpoint.connectionSettings,
    ...(options.background === true ? { background: true } : {}),
  })
  try {
    const { status, json } = await requestJson(connection, {
      path,
      headers: { "user-agent": `hermes-agent/${options.version}`, ...keyHeaders(endpoint), ...endpoint.headers },
      timeouts: { connectMs: TOTAL_MS, idleMs: TOTAL_MS },
      signal,
    })
    if (status === 401 || status === 403) return fail("refuses the key")
    if (status !== 200) return fail(`responded with HTTP ${status}`)
    const models = parseModelList(json)
    return models === undefined ? fail("did not return a model list") : ok(models)
  } catch (error) {
    if (options.signal.aborted) return fail("did not respond before the request was cancelled")
    return fail(
      signal.aborted
        ? `did not respond within ${TOTAL_MS / 1000} s`
        : `does not respond (${explainSystemError(error)})`,
    )
  } finally {
    connection.close()
  }
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

function keyHeaders({ wire, key }: ModelListEndpoint): Readonly<Record<string, string>> {
  const version: Record<string, string> = wire === "anthropic_messages" ? { "anthropic-version": "2023-06-01" } : {}
  if (key === undefined) return version
  if (wire === "gemini_native") return { "x-goog-api-key": key }
  const bearer = wire !== "anthropic_messages" || !key.startsWith("sk-ant-api")
  return {
    ...version,
    ...(bearer ? { authorization: `Bearer ${key}` } : {}),
    ...(wire === "anthropic_messages" ? { "x-api-key": key } : {}),
  }
}

/** Parses prices in USD per token, under the field names that aggregators use. */
function listedPrices(pricing: unknown): Prices | undefined {
  if (!isRecord(pricing)) return undefined
  const price = (...names: readonly string[]): ReturnType<typeof parsePricePerToken> => {
    const found = names.map((name) => pricing[name]).find((value) => value !== undefined && value !== null)
    return typeof found === "string" || typeof found === "number" ? parsePricePerToken(found) : null
  }
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
