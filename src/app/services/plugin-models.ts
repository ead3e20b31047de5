import { isRecord } from "../../base/json.ts"
import type { Config } from "../../config/load-config.ts"
import type { PluginModelProvider } from "../../plugins/contract.ts"

/** The settings with the servers of plugins as further entries of `providers`. Those of the user are never replaced. */
export function withModelProviders(config: Config, providers: readonly PluginModelProvider[]): Config {
  if (providers.length === 0) return config
  const entries = new Map(providers.map((provider) => [provider.name, entryOf(provider)]))
  return {
    ...config,
    lookup: (path) => {
      const [, name = "", ...rest] = path.split(".")
      const entry = path.startsWith("providers.") ? entries.get(name) : undefined
      const found = config.lookup(path)
      if (entry === undefined || found !== undefined) return found
      return rest.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), entry)
    },
  }
}

function entryOf(provider: PluginModelProvider): Readonly<Record<string, unknown>> {
  const { name, baseUrl, keyEnv, apiMode, defaultModel, contextLength, headers } = provider
  return {
    name,
    base_url: baseUrl,
    ...(keyEnv === undefined ? {} : { key_env: keyEnv }),
    ...(apiMode === undefined ? {} : { transport: apiMode }),
    ...(defaultModel === undefined ? {} : { default_model: defaultModel }),
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
    ...(headers === undefined ? {} : { headers }),
  }
}
