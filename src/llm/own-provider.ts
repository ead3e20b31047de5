import { isRecord } from "../base/json.ts"
import type { Config } from "../config/load.ts"
import type { Provider } from "./provider.ts"
import { CUSTOM_PROVIDER, findProvider } from "./providers.ts"

/** A provider as the settings may describe one: with a key, a wire and a window of its own. */
export type OwnProvider = Provider & {
  readonly key?: string
  readonly apiMode?: string
  readonly contextLength?: number
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** What is said about single models, by name. */
  readonly models?: Readonly<Record<string, unknown>>
  readonly requestSeconds?: number
  readonly staleSeconds?: number
  /** `rate_limit_delay`: seconds from one request to the next. */
  readonly gapSeconds?: number
  /** `discover_models: false`: the endpoint is not asked which models it has. */
  readonly listsModels?: false
  /** The file of `ca_bundle`: whose certificates are believed there. */
  readonly authorities?: { readonly path: string; readonly setting: string }
}

/** `providers.<name>` of the settings: the person's own endpoints. */
export function ownProvider(asked: string, config: Config): OwnProvider | undefined {
  const name = asked.startsWith("custom:") ? asked.slice("custom:".length) : asked
  const entry = config.lookup(`providers.${name}`)
  if (!isRecord(entry)) return undefined
  const field = (...names: string[]): string =>
    names.map((key) => entry[key]).find((value) => typeof value === "string") ?? ""
  const keyVariable = field("key_env", "api_key_env")
  const key = field("api_key")
  const apiMode = field("transport", "api_mode")
  const known = findProvider(name)
  const address = field("api", "url", "base_url")
  const authorities = field("ca_bundle").trim()
  const contextLength = numberField(entry, "context_length")
  const [requestSeconds, staleSeconds] = [
    numberField(entry, "request_timeout_seconds"),
    numberField(entry, "stale_timeout_seconds"),
  ]
  const gapSeconds = numberField(entry, "rate_limit_delay")
  const { extra_body: extraBody, models, headers } = entry
  return {
    ...(known ?? { ...CUSTOM_PROVIDER, id: name, aliases: [], name: field("name") || name, keyVariables: [] }),
    ...(keyVariable === "" ? {} : { keyVariables: [keyVariable] }),
    ...(address === "" ? {} : { baseUrl: address }),
    ...(field("default_model", "model") === "" ? {} : { defaultModel: field("default_model", "model") }),
    ...(key === "" ? {} : { key }),
    ...(apiMode === "" ? {} : { apiMode }),
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(isRecord(extraBody) ? { extraBody } : {}),
    ...(isRecord(models) ? { models } : {}),
    ...(isRecord(headers) ? { headers: { ...known?.headers, ...headerEntries(headers) } } : {}),
    ...(requestSeconds === undefined ? {} : { requestSeconds }),
    ...(staleSeconds === undefined ? {} : { staleSeconds }),
    ...(gapSeconds === undefined ? {} : { gapSeconds }),
    ...(entry["discover_models"] === false ? { listsModels: false } : {}),
    ...(authorities === ""
      ? {}
      : { authorities: { path: authorities, setting: `the setting providers.${name}.ca_bundle` } }),
  }
}

/** Headers that the settings add, by their names in small letters, so that they replace ours. */
export function headerEntries(mapping: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) =>
      typeof value === "string" ? [[name.toLowerCase(), value]] : [],
    ),
  )
}

/** A positive number; anything else counts as not said. */
export function numberField(entry: unknown, name: string): number | undefined {
  const value = isRecord(entry) ? entry[name] : undefined
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined
}
