import { isRecord } from "../../base/json.ts"
import type { Config } from "../../config/load-config.ts"
import type { ModelSelection } from "../choose-model.ts"

/** A model selection that names its provider. */
export type ProviderSelection = ModelSelection & { readonly provider: string }

/** Parses an entry of a fallback list in the settings. A string is a provider name. Undefined without provider and base URL. */
export function parseFallbackEntry(entry: unknown): ProviderSelection | undefined {
  if (typeof entry === "string") return entry.trim() === "" ? undefined : { provider: entry.trim() }
  if (!isRecord(entry)) return undefined
  const field = (...names: readonly string[]): string => {
    const texts = names.map((name) => entry[name]).filter((value) => typeof value === "string")
    return texts.map((text) => text.trim()).find((text) => text !== "") ?? ""
  }
  const [model, baseUrl, apiKey] = [field("model"), field("base_url"), field("api_key")]
  const [keyVariable, apiMode] = [field("key_env", "api_key_env"), field("api_mode")]
  const provider = field("provider") || (baseUrl === "" ? "" : "custom")
  if (provider === "") return undefined
  return {
    provider,
    ...(model === "" ? {} : { model }),
    ...(baseUrl === "" ? {} : { baseUrl }),
    ...(apiKey === "" ? {} : { apiKey }),
    ...(keyVariable === "" ? {} : { keyVariable }),
    ...(apiMode === "" ? {} : { apiMode }),
  }
}

/** The fallbacks of the main model: `fallback_providers`, then the older `fallback_model`. */
export function mainFallbacks(config: Config): readonly ProviderSelection[] {
  const older = config.get("fallback_model")
  return [...config.get("fallback_providers"), ...(Array.isArray(older) ? older : [older])]
    .map((entry) => parseFallbackEntry(entry))
    .filter((selection) => selection !== undefined)
    .filter(({ model }) => model !== undefined)
}
