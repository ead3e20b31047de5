import { isRecord } from "../../base/json.ts"
import type { Config } from "../../config/load.ts"
import type { ModelWish } from "../choose-model.ts"

/** A wish that names its provider. */
export type NamedWish = ModelWish & { readonly provider: string }

/** An entry of a list of models in the settings; a bare word is a provider. Undefined when it names nobody. */
export function wishFromEntry(entry: unknown): NamedWish | undefined {
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

/** What stands in for the main model: `fallback_providers`, then the older `fallback_model`. */
export function mainFallbacks(config: Config): readonly NamedWish[] {
  const older = config.get("fallback_model")
  return [...config.get("fallback_providers"), ...(Array.isArray(older) ? older : [older])]
    .map((entry) => wishFromEntry(entry))
    .filter((wish) => wish !== undefined)
    .filter(({ model }) => model !== undefined)
}
