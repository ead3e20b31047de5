import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { windowInMetadata } from "./context-window.ts"
import { openHttpConnection } from "../http/http.ts"
import type { Way } from "../http/http.ts"
import { askJson } from "../http/http-json.ts"
import type { WireName } from "../model.ts"
import { priceFromPerToken, requestPriceFrom, type Prices } from "./prices.ts"

/** A model as its own endpoint lists it. */
export interface ListedModel {
  readonly id: string
  readonly contextLength?: number
  readonly prices?: Prices
}

export interface ListPlace {
  readonly wire: WireName
  readonly baseUrl: string
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly way?: Way
  /** False where the settings say that nobody is to ask. */
  readonly listsModels?: false | undefined
}

const TOTAL_MS = 8000

/** Asks an endpoint which models it has. The failure is the end of a sentence that begins with the provider's name. */
export async function fetchModelList(
  place: ListPlace,
  options: { readonly version: string; readonly signal: AbortSignal; readonly background?: boolean },
): Promise<Result<readonly ListedModel[]>> {
  if (place.listsModels === false) return fail("is not asked for its models, as discover_models in config.yaml says")
  const path = listPath(place.wire)
  if (path === undefined) return fail("has no list of models to ask for")
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(TOTAL_MS)])
  const connection = openHttpConnection(new URL(place.baseUrl), {
    ...place.way,
    ...(options.background === true ? { background: true } : {}),
  })
  try {
    const { status, json } = await askJson(connection, {
      path,
      headers: { "user-agent": `hermes-agent/${options.version}`, ...keyHeaders(place), ...place.headers },
      timeouts: { connectMs: TOTAL_MS, idleMs: TOTAL_MS },
      signal,
    })
    if (status === 401 || status === 403) return fail("refuses the key")
    if (status !== 200) return fail(`answers with code ${status}`)
    const models = parseModelList(json)
    return models === undefined ? fail("answers with something that is no list of models") : ok(models)
  } catch (error) {
    if (options.signal.aborted) return fail("was not waited for")
    return fail(
      signal.aborted ? `did not answer within ${TOTAL_MS / 1000} s` : `does not answer (${explainSystemError(error)})`,
    )
  } finally {
    connection.close()
  }
}

/** Every vendor's form of a list; undefined when it is none. Entries without a name are left out. */
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

function keyHeaders({ wire, key }: ListPlace): Readonly<Record<string, string>> {
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

/** USD for one token each, under the names that aggregators use. */
function listedPrices(pricing: unknown): Prices | undefined {
  if (!isRecord(pricing)) return undefined
  const price = (...names: readonly string[]): ReturnType<typeof priceFromPerToken> => {
    const found = names.map((name) => pricing[name]).find((value) => value !== undefined && value !== null)
    return typeof found === "string" || typeof found === "number" ? priceFromPerToken(found) : null
  }
  const [input, output] = [price("prompt", "input"), price("completion", "output")]
  if (input === null && output === null) return undefined
  const { request } = pricing
  const perRequest = typeof request === "string" || typeof request === "number" ? requestPriceFrom(request) : null
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
