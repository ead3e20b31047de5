import type { Environment } from "../config/environment.ts"
import type { Config } from "../config/load.ts"
import { isUsableKey } from "./credentials/usable-key.ts"
import type { OwnProvider } from "./own-provider.ts"
import type { Provider } from "./provider.ts"
import { CUSTOM_PROVIDER, findProvider } from "./providers.ts"

/** What somebody named beside the provider: an address with a key of its own. */
export interface AddressWish {
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly keyVariable?: string
}

interface SettingsAndVariables {
  readonly config: Config
  readonly environment: Environment
}

/** The address, and who named it: only that decides which key may be sent there. */
export interface Endpoint {
  readonly address: string
  readonly namedBy: "wish" | "settings" | "variable" | "provider"
}

export function endpointOf(
  provider: Provider,
  wish: AddressWish,
  { config, environment }: SettingsAndVariables,
): Endpoint {
  if (wish.baseUrl !== undefined && wish.baseUrl !== "") return { address: wish.baseUrl, namedBy: "wish" }
  const configured = config.get("model.base_url").trim()
  if (configured !== "" && belongsToSettings(provider, config)) return { address: configured, namedBy: "settings" }
  const variable =
    provider.baseUrlVariable === undefined ? "" : (environment.get(provider.baseUrlVariable) ?? "").trim()
  if (variable !== "") return { address: variable, namedBy: "variable" }
  if (provider.authType === "aws_sdk")
    return { address: regional(provider.baseUrl, { config, environment }), namedBy: "provider" }
  return { address: provider.baseUrl.trim(), namedBy: "provider" }
}

/** The address names the region, so the region that was asked for goes into it. */
function regional(address: string, { config, environment }: SettingsAndVariables): string {
  const named = [config.get("bedrock.region"), environment.get("AWS_REGION"), environment.get("AWS_DEFAULT_REGION")]
  const region = named.map((name) => name?.trim() ?? "").find((name) => name !== "")
  return region === undefined ? address : address.replace(/(bedrock-runtime\.)[^.]+/, `$1${region}`)
}

/** `model.base_url` and `model.api_key` belong to the provider that the settings name, and to no other. */
export function belongsToSettings(provider: Provider, config: Config): boolean {
  const named = config.get("model.provider")
  return provider === CUSTOM_PROVIDER
    ? named === "auto" || findProvider(named) === provider
    : findProvider(named) === provider
}

/** A key is sent only to the host it was given for: the settings' to the settings' address, a provider's to that provider. */
export function credentialFor(
  provider: OwnProvider,
  wish: AddressWish,
  endpoint: Endpoint & SettingsAndVariables & { readonly url: URL },
): { readonly key: string; readonly source: string } | undefined {
  const { config, environment, url } = endpoint
  if (wish.apiKey !== undefined && isUsableKey(wish.apiKey)) return { key: wish.apiKey, source: "its own entry" }
  if (wish.keyVariable !== undefined) {
    const key = environment.get(wish.keyVariable)?.trim() ?? ""
    return isUsableKey(key) ? { key, source: wish.keyVariable } : undefined
  }
  if (provider.key !== undefined && isUsableKey(provider.key)) {
    return { key: provider.key, source: `providers.${provider.id}.api_key` }
  }
  const configured = config.get("model.api_key")
  if (
    isUsableKey(configured) &&
    belongsToSettings(provider, config) &&
    (endpoint.namedBy === "settings" || endpoint.namedBy === "provider")
  ) {
    return { key: configured, source: "model.api_key" }
  }
  const ownHost = parseAddress(provider.baseUrl)?.hostname
  if ((endpoint.namedBy === "settings" || endpoint.namedBy === "wish") && ownHost !== url.hostname) return undefined
  return keyOf(provider, environment)
}

export function keyOf(
  provider: Provider,
  environment: Environment,
): { readonly key: string; readonly source: string } | undefined {
  for (const name of provider.keyVariables) {
    const key = environment.get(name)?.trim() ?? ""
    if (isUsableKey(key)) return { key, source: name }
  }
  return undefined
}

/** A key from elsewhere never goes to an address that somebody else named. */
export function isManaged(
  provider: OwnProvider,
  wish: AddressWish,
  { namedBy, url }: Endpoint & { readonly url: URL },
): boolean {
  if (wish.apiKey !== undefined || wish.keyVariable !== undefined || provider.key !== undefined) return false
  if (namedBy === "provider" || namedBy === "variable") return true
  return parseAddress(provider.baseUrl)?.hostname === url.hostname
}

export function parseAddress(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "" ? url : undefined
}
