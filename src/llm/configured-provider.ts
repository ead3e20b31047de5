import { isRecord } from "../base/json.ts"
import type { Config } from "../config/load-config.ts"
import type { Provider } from "./provider.ts"
import { CUSTOM_PROVIDER, findProvider } from "./providers.ts"

/** A provider with the overrides of `providers.<name>` in the settings, or one that only the settings define. */
export type ConfiguredProvider = Provider & {
  /** `api_key` and `api_keys`, with the setting that contains each. */
  readonly keys?: readonly { readonly key: string; readonly source: string }[]
  /** `base_url` replaces the address of a provider of the table. */
  readonly hasOwnAddress?: true
  readonly apiMode?: string
  readonly contextLength?: number
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** Settings of single models, by name. */
  readonly models?: Readonly<Record<string, unknown>>
  readonly requestSeconds?: number
  readonly staleSeconds?: number
  /** `rate_limit_delay`: minimum seconds between two requests. */
  readonly requestDelaySeconds?: number
  /** `discover_models: false`: do not request the endpoint's model list. */
  readonly discoverModels?: false
  /** `ca_bundle`: a PEM file with certificate authorities to trust for this provider. */
  readonly caBundle?: { readonly path: string; readonly setting: string }
}

/** Returns the provider that `providers.<name>` configures. Also accepts `custom:<name>`. */
export function findConfiguredProvider(requestedName: string, config: Config): ConfiguredProvider | undefined {
  const name = requestedName.startsWith("custom:") ? requestedName.slice("custom:".length) : requestedName
  const entry = config.lookup(`providers.${name}`)
  if (!isRecord(entry)) return undefined
  const field = (...names: string[]): string =>
    names.map((key) => entry[key]).find((value) => typeof value === "string") ?? ""
  const keyVariable = field("key_env", "api_key_env")
  const list = Array.isArray(entry["api_keys"]) ? entry["api_keys"] : []
  const keys = [
    { key: entry["api_key"], source: `providers.${name}.api_key` },
    ...list.map((key: unknown, index) => ({ key, source: `providers.${name}.api_keys.${index}` })),
  ].flatMap(({ key, source }) => (typeof key === "string" && key.trim() !== "" ? [{ key: key.trim(), source }] : []))
  const apiMode = field("transport", "api_mode")
  const known = findProvider(name)
  const address = field("api", "url", "base_url")
  const caBundlePath = field("ca_bundle").trim()
  const contextLength = numberField(entry, "context_length")
  const [requestSeconds, staleSeconds] = [
    numberField(entry, "request_timeout_seconds"),
    numberField(entry, "stale_timeout_seconds"),
  ]
  const requestDelaySeconds = numberField(entry, "rate_limit_delay")
  const { extra_body: extraBody, models, headers } = entry
  return {
    ...(known ?? { ...CUSTOM_PROVIDER, id: name, aliases: [], name: field("name") || name, keyVariables: [] }),
    ...(keyVariable === "" ? {} : { keyVariables: [keyVariable] }),
    ...(address === "" ? {} : { baseUrl: address, hasOwnAddress: true }),
    ...(field("default_model", "model") === "" ? {} : { defaultModel: field("default_model", "model") }),
    ...(keys.length === 0 ? {} : { keys }),
    ...(apiMode === "" ? {} : { apiMode }),
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(isRecord(extraBody) ? { extraBody } : {}),
    ...(isRecord(models) ? { models } : {}),
    ...(isRecord(headers) ? { headers: { ...known?.headers, ...headerEntries(headers) } } : {}),
    ...(requestSeconds === undefined ? {} : { requestSeconds }),
    ...(staleSeconds === undefined ? {} : { staleSeconds }),
    ...(requestDelaySeconds === undefined ? {} : { requestDelaySeconds }),
    ...(entry["discover_models"] === false ? { discoverModels: false } : {}),
    ...(caBundlePath === ""
      ? {}
      : { caBundle: { path: caBundlePath, setting: `the setting providers.${name}.ca_bundle` } }),
  }
}

/** Lower-cases header names from the settings, so that they override the built-in headers. */
export function headerEntries(mapping: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) =>
      typeof value === "string" ? [[name.toLowerCase(), value]] : [],
    ),
  )
}

/** Returns a positive number; any other value counts as absent. */
export function numberField(entry: unknown, name: string): number | undefined {
  const value = isRecord(entry) ? entry[name] : undefined
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined
}
