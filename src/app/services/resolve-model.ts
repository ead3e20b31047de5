import { isRecord } from "../../base/json.ts"
import { ok, type Result } from "../../base/result.ts"
import type { Config } from "../../config/load-config.ts"
import { resolveModelName } from "../../llm/catalog/resolve-model-name.ts"
import { splitProviderPrefix, type ModelArgument } from "../../llm/catalog/model-names.ts"
import type { ModelSelection } from "../../llm/choose-model.ts"
import type { Provider } from "../../llm/provider.ts"
import { findProvider } from "../../llm/providers.ts"
import type { App } from "../app.ts"

type Home = Pick<App, "config" | "home" | "chooseModel">

/** Resolves a model name as typed by the user to a provider and model of this home; see `resolveModelName`. */
export async function resolveTypedModel(
  words: Pick<ModelArgument, "model" | "provider">,
  { current, app }: { readonly current: string; readonly app: Home },
): Promise<Result<ModelSelection>> {
  const [{ loadCatalog }, { readCachedList }] = await Promise.all([
    import("../../llm/catalog/catalog.ts"),
    import("../../llm/catalog/model-list-cache.ts"),
  ])
  return resolveModelName(words, {
    current,
    catalog: await loadCatalog(),
    listed: (provider) => {
      const chosen = app.chooseModel({ provider: provider.id, model: "any" })
      const list = chosen.ok ? readCachedList(app.home, chosen.value.runtime.baseUrl) : undefined
      return (list?.models ?? []).map(({ id }) => id)
    },
    hasCredentials: (provider) => isConfigured(provider, app),
    isConfiguredProvider: (name) => isOwnProvider(name, app.config),
    aliases: { modelAliases: app.config.get("model_aliases"), shortAliases: app.config.get("model.aliases") },
  })
}

/**
 * Resolves `--model` and `model.default`. A custom server may name its models freely, so a name for one is not changed.
 */
export async function resolveModelOption(selection: ModelSelection, app: Home): Promise<Result<ModelSelection>> {
  const { model, provider } = selection
  const current = app.chooseModel(provider === undefined ? {} : { provider })
  const at = provider ?? (current.ok ? current.value.runtime.provider : undefined)
  if (model === undefined || at === undefined || !isSold(at, app)) return ok(selection)
  const words = provider === undefined ? splitProviderPrefix(model, (name) => isProvider(name, app)) : selection
  return await resolveTypedModel({ model: words.model, provider: words.provider }, { current: at, app })
}

/** A provider of the table or a custom one. */
export function isProvider(name: string, { config }: Pick<App, "config">): boolean {
  return findProvider(name) !== undefined || isOwnProvider(name, config)
}

/** With or without the prefix `custom:`. Settings for a provider of the table do not make it custom. */
function isOwnProvider(name: string, config: Config): boolean {
  const bare = name.replace(/^custom:/i, "")
  return isRecord(config.lookup(`providers.${bare}`)) && (bare !== name || findProvider(name)?.id !== name)
}

/** A provider of the table that serves its own models under their known names. */
function isSold(name: string, app: Home): boolean {
  const provider = findProvider(name)
  if (provider === undefined || provider.keyOptional === true || provider.baseUrl === "") return false
  // A configured address may belong to another server.
  const chosen = app.chooseModel({ provider: provider.id, model: "any" })
  return !chosen.ok || chosen.value.usesDefaultEndpoint
}

/** Whether the user has a key for it. Unknown for providers that need none, and for AWS, where only a request can tell. */
function isConfigured(provider: Provider, app: Home): boolean {
  if (provider.keyOptional === true || provider.neverAutomatic === true || provider.authType === "aws_sdk") return false
  return app.chooseModel({ provider: provider.id, model: provider.defaultModel || "any" }).ok
}
