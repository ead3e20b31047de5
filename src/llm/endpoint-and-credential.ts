import type { Environment } from "../config/environment.ts"
import type { Config } from "../config/load-config.ts"
import { isUsableKey } from "./credentials/usable-key.ts"
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

export function resolveEndpoint(
  provider: Provider,
  requested: RequestedEndpoint,
  { config, environment }: SettingsAndVariables,
): Endpoint {
  if (requested.baseUrl !== undefined && requested.baseUrl !== "")
    return { address: requested.baseUrl, source: "request" }
  const configured = config.get("model.base_url").trim()
  if (configured !== "" && modelSettingsApplyTo(provider, config)) return { address: configured, source: "settings" }
  const variable =
    provider.baseUrlVariable === undefined ? "" : (environment.get(provider.baseUrlVariable) ?? "").trim()
  if (variable !== "") return { address: variable, source: "variable" }
  if (provider.authType === "aws_sdk")
    return { address: withRegion(provider.baseUrl, { config, environment }), source: "provider" }
  return { address: provider.baseUrl.trim(), source: "provider" }
}

/** A Bedrock host name contains the region, so the configured region replaces the default one. */
function withRegion(address: string, { config, environment }: SettingsAndVariables): string {
  const configured = [
    config.get("bedrock.region"),
    environment.get("AWS_REGION"),
    environment.get("AWS_DEFAULT_REGION"),
  ]
  const region = configured.map((name) => name?.trim() ?? "").find((name) => name !== "")
  return region === undefined ? address : address.replace(/(bedrock-runtime\.)[^.]+/, `$1${region}`)
}

/** `model.base_url`, `model.api_key` and `model.api_mode` apply only to the provider that `model.provider` names. */
export function modelSettingsApplyTo(provider: Provider, config: Config): boolean {
  const named = config.get("model.provider")
  return provider === CUSTOM_PROVIDER
    ? named === "auto" || findProvider(named) === provider
    : findProvider(named) === provider
}

/** A key is sent only to the host it was issued for: `model.api_key` to `model.base_url`, a provider's key to that provider. */
export function resolveApiKey(
  provider: ConfiguredProvider,
  requested: RequestedEndpoint,
  endpoint: Endpoint & SettingsAndVariables & { readonly url: URL },
): { readonly key: string; readonly source: string } | undefined {
  const { config, environment, url } = endpoint
  if (requested.apiKey !== undefined && isUsableKey(requested.apiKey))
    return { key: requested.apiKey, source: "api_key of its own entry" }
  if (requested.keyVariable !== undefined) {
    const key = environment.get(requested.keyVariable)?.trim() ?? ""
    return isUsableKey(key) ? { key, source: requested.keyVariable } : undefined
  }
  if (provider.key !== undefined && isUsableKey(provider.key)) {
    return { key: provider.key, source: `providers.${provider.id}.api_key` }
  }
  const configured = config.get("model.api_key")
  if (
    isUsableKey(configured) &&
    modelSettingsApplyTo(provider, config) &&
    (endpoint.source === "settings" || endpoint.source === "provider")
  ) {
    return { key: configured, source: "model.api_key" }
  }
  const ownHost = parseAddress(provider.baseUrl)?.hostname
  if ((endpoint.source === "settings" || endpoint.source === "request") && ownHost !== url.hostname) return undefined
  return keyFromEnvironment(provider, environment)
}

export function keyFromEnvironment(
  provider: Provider,
  environment: Environment,
): { readonly key: string; readonly source: string } | undefined {
  for (const name of provider.keyVariables) {
    const key = environment.get(name)?.trim() ?? ""
    if (isUsableKey(key)) return { key, source: name }
  }
  return undefined
}

/** Pooled keys and logins go only to the provider's own host, and only when no other key was requested. */
export function mayUsePool(
  provider: ConfiguredProvider,
  requested: RequestedEndpoint,
  { source, url }: Endpoint & { readonly url: URL },
): boolean {
  if (requested.apiKey !== undefined || requested.keyVariable !== undefined || provider.key !== undefined) return false
  if (source === "provider" || source === "variable") return true
  return parseAddress(provider.baseUrl)?.hostname === url.hostname
}

export function parseAddress(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "" ? url : undefined
}
