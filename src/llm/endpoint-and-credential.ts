import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import { cloudAddress, completeCloudAddress } from "./cloud-address.ts"
import { isUsableKey } from "./credentials/usable-key.ts"
import type { CredentialOrigin } from "./credential.ts"
import type { ConfiguredProvider } from "./configured-provider.ts"
import type { Provider } from "./provider.ts"
import { CUSTOM_PROVIDER, findProvider } from "./providers.ts"

/** An endpoint and key that override those of the provider; each part may be absent. */
export interface RequestedEndpoint {
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly keyVariable?: string
}

interface SettingsAndVariables {
  readonly config: Config
  readonly environment: Environment
}

/** `source` is what set the address; it decides which keys may be sent there. */
export interface Endpoint {
  readonly address: string
  readonly source: "request" | "settings" | "variable" | "provider"
}

/** An endpoint with its parsed address, and what keys may come from. */
export type ResolvedEndpoint = Endpoint &
  SettingsAndVariables & { readonly url: URL; readonly suppressedSources?: ReadonlySet<string> }

export function resolveEndpoint(
  provider: ConfiguredProvider,
  requested: RequestedEndpoint,
  { config, environment, home, model }: SettingsAndVariables & { readonly model: string; readonly home?: Home },
): Endpoint {
  const complete = (address: string): string => completeCloudAddress(provider, address, { environment, model })
  if (requested.baseUrl !== undefined && requested.baseUrl !== "")
    return { address: complete(requested.baseUrl), source: "request" }
  const configured = config.get("model.base_url").trim()
  if (configured !== "" && modelSettingsApplyTo(provider, config))
    return { address: complete(configured), source: "settings" }
  const variable =
    provider.baseUrlVariable === undefined ? "" : (environment.get(provider.baseUrlVariable) ?? "").trim()
  if (variable !== "") return { address: complete(variable), source: "variable" }
  if (provider.hasOwnAddress === true) return { address: complete(provider.baseUrl.trim()), source: "provider" }
  const ofAccount = cloudAddress(provider, { config, environment, home, model })
  return { address: ofAccount ?? provider.baseUrl.trim(), source: "provider" }
}

/** `model.base_url`, `model.api_key` and `model.api_mode` apply only to the provider that `model.provider` names. */
export function modelSettingsApplyTo(provider: Provider, config: Config): boolean {
  const named = config.get("model.provider")
  return provider === CUSTOM_PROVIDER
    ? named === "auto" || findProvider(named) === provider
    : findProvider(named) === provider
}

/**
 * Returns which credentials of a provider may be sent to an endpoint. All of them go to the provider's own host, to the address in its
 * `*_BASE_URL` variable and to `providers.<name>.base_url`. `model.base_url` gets the keys of the settings; a provider without a host of its own has no
 * other address, so its other keys go there too. Any other address gets only a key that is named together with it.
 */
export function allowedOrigins(
  provider: ConfiguredProvider,
  requested: RequestedEndpoint,
  endpoint: ResolvedEndpoint,
): readonly CredentialOrigin[] {
  const { config, environment, url } = endpoint
  if (requested.apiKey !== undefined || requested.keyVariable !== undefined) return NO_ORIGINS
  const variable = provider.baseUrlVariable === undefined ? undefined : environment.get(provider.baseUrlVariable)
  const own = [provider.baseUrl, variable ?? ""].some((address) => parseAddress(address)?.origin === url.origin)
  if (own || endpoint.source === "provider" || endpoint.source === "variable") return ALL_ORIGINS
  const isModelAddress =
    endpoint.source === "settings" ||
    (modelSettingsApplyTo(provider, config) && parseAddress(config.get("model.base_url"))?.origin === url.origin)
  if (!isModelAddress) return NO_ORIGINS
  if (provider.baseUrl !== "") return ["settings"]
  // OPENAI_API_KEY belongs to OpenAI, not to whichever server is configured.
  return provider.id === CUSTOM_PROVIDER.id ? ["stored", "settings"] : ALL_ORIGINS
}

const NO_ORIGINS: readonly CredentialOrigin[] = []
const ALL_ORIGINS: readonly CredentialOrigin[] = ["stored", "environment", "settings"]

export interface NamedKey {
  readonly key: string
  /** The variable or setting that contains it. */
  readonly source: string
}

/** Returns the key for an endpoint when no pool is used; it comes from the same sources as the pool, in the same order. */
export function resolveApiKey(
  provider: ConfiguredProvider,
  requested: RequestedEndpoint,
  endpoint: ResolvedEndpoint,
): NamedKey | undefined {
  if (requested.apiKey !== undefined && isUsableKey(requested.apiKey))
    return { key: requested.apiKey, source: "api_key of its own entry" }
  if (requested.keyVariable !== undefined) {
    const key = endpoint.environment.get(requested.keyVariable)?.trim() ?? ""
    return isUsableKey(key) ? { key, source: requested.keyVariable } : undefined
  }
  return externalKeys(provider, { ...endpoint, origins: allowedOrigins(provider, requested, endpoint) })[0]
}

/** Returns the keys of a provider in variables, then those in the settings. */
export function externalKeys(
  provider: ConfiguredProvider,
  sources: SettingsAndVariables & {
    readonly origins: readonly CredentialOrigin[]
    /** Sources that the user removed with `hermes auth remove`. */
    readonly suppressedSources?: ReadonlySet<string>
  },
): readonly NamedKey[] {
  const { config, environment, origins, suppressedSources } = sources
  const variables = provider.keyVariables.map((name) => ({ key: environment.get(name)?.trim() ?? "", source: name }))
  const model = modelSettingsApplyTo(provider, config)
    ? [{ key: config.get("model.api_key"), source: "model.api_key" }]
    : []
  const settings = [...(provider.keys ?? []), ...model]
  return [
    ...(origins.includes("environment") ? variables : []),
    ...(origins.includes("settings")
      ? settings.filter(({ source }) => suppressedSources?.has(`config:${source}`) !== true)
      : []),
  ].filter(({ key }) => isUsableKey(key))
}

export function keyFromEnvironment(provider: Provider, environment: Environment): NamedKey | undefined {
  for (const name of provider.keyVariables) {
    const key = environment.get(name)?.trim() ?? ""
    if (isUsableKey(key)) return { key, source: name }
  }
  return undefined
}

export function parseAddress(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "" ? url : undefined
}
