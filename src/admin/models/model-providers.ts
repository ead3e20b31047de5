import type { LocalServer } from "../../llm/local/local-servers.ts"
import { findLocalServers } from "../../llm/local/local-servers.ts"
import { chooseModelFor } from "../../app/services/model-sources.ts"
import { usesCloudIdentity, type Provider } from "../../llm/provider.ts"
import { CUSTOM_PROVIDER, findProvider, PROVIDERS } from "../../llm/providers.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { providerRoute } from "./provider-route.ts"

/** Where a model can be chosen from. */
export type ModelProviderOption =
  | { readonly kind: "local"; readonly server: LocalServer }
  | { readonly kind: "provider"; readonly provider: Provider; readonly hasKey: boolean }

export interface ModelProviderOptions {
  /** Running local servers first, then the providers in the order of the provider table. */
  readonly options: readonly ModelProviderOption[]
  /** The provider of the settings, where it is one of the table. */
  readonly current: string | undefined
}

/** Lists the local servers that have models, and every provider. Looking for servers takes two seconds at most. */
export async function listModelProviders(
  home: LoadedHome,
  { signal }: { readonly signal: AbortSignal },
): Promise<ModelProviderOptions> {
  const { config, environment } = home
  const servers = (await findLocalServers({ environment, signal })).filter(({ models }) => models.length > 0)
  const providers = PROVIDERS.filter(({ authType }) => authType !== "external_process")
  const named = config.get("model.provider")
  return {
    options: [
      ...servers.map((server) => ({ kind: "local" as const, server })),
      ...providers.map((provider) => ({
        kind: "provider" as const,
        provider,
        hasKey: providerRoute(home, provider.id)?.key !== undefined,
      })),
    ],
    current: findProvider(named) === undefined ? undefined : named,
  }
}

/** A provider that can be used now. */
export interface UsableProvider {
  readonly id: string
  readonly name: string
  /** Where its key is found; undefined where none is needed. */
  readonly keySource: string | undefined
}

/** The providers that have a key or a login, and those that the settings define. No server is asked. */
export function usableProviders(home: LoadedHome): readonly UsableProvider[] {
  const listed = PROVIDERS.flatMap((provider): readonly UsableProvider[] => {
    if (provider.authType === "external_process") return []
    const access = providerAccess(home, provider)
    if (access.kind !== "ready" || access.keySource === undefined) return []
    return [{ id: provider.id, name: provider.name, keySource: access.keySource }]
  })
  const own = Object.keys(home.config.get("providers")).flatMap((id): readonly UsableProvider[] => {
    const route = providerRoute(home, id)
    if (route === undefined || listed.some((provider) => provider.id === id)) return []
    return [{ id, name: id, keySource: route.key === undefined ? undefined : route.runtime.credentialSource }]
  })
  return [...listed, ...own]
}

export function findModelProvider(name: string): Provider | undefined {
  return findProvider(name)
}

/** Returns the provider under which a local server is configured, and its address where that is not the provider's default. */
export function providerOfLocalServer(server: LocalServer): {
  readonly provider: Provider
  readonly baseUrl: string | undefined
} {
  const provider = (server.kind === "lmstudio" ? findProvider("lmstudio") : undefined) ?? CUSTOM_PROVIDER
  return { provider, baseUrl: server.baseUrl === provider.baseUrl ? undefined : server.baseUrl }
}

/** What is still needed before a provider can be used. */
export type ProviderAccess =
  /** `keySource` names where the key is found; undefined where none is needed. */
  | { readonly kind: "ready"; readonly keySource: string | undefined }
  | { readonly kind: "needs-address" }
  /** The message names the variable of the cloud account. */
  | { readonly kind: "needs-variable"; readonly message: string }
  | { readonly kind: "needs-login" }
  | { readonly kind: "needs-key"; readonly variable: string }

export function providerAccess(home: LoadedHome, provider: Provider): ProviderAccess {
  if (provider.baseUrl === "" && provider.cloud === undefined) return { kind: "needs-address" }
  // A model has to be named, but only the endpoint and the key matter here.
  const route = chooseModelFor(home, { provider: provider.id, model: "any" })
  if (route.ok) {
    const { key, runtime } = route.value
    return { kind: "ready", keySource: key === undefined ? undefined : runtime.credentialSource }
  }
  if (route.error.code === "bad_address") {
    return usesCloudIdentity(provider)
      ? { kind: "needs-variable", message: route.error.message }
      : { kind: "needs-address" }
  }
  const [variable] = provider.keyVariables
  return variable === undefined ? { kind: "needs-login" } : { kind: "needs-key", variable }
}
