import { isRecord } from "../base/json.ts"
import { ok, type Result } from "../base/result.ts"
import type { Config } from "../config/load.ts"
import { meantModel } from "../llm/catalog/meant-model.ts"
import { splitProviderPrefix, type ModelArgument } from "../llm/catalog/model-names.ts"
import type { ModelWish } from "../llm/choose-model.ts"
import type { Provider } from "../llm/provider.ts"
import { findProvider } from "../llm/providers.ts"
import type { App } from "./app.ts"

type Home = Pick<App, "config" | "home" | "chooseModel">

/** Which model the words of a person mean in this home, and at whom; see `meantModel`. */
export async function typedModel(
  words: Pick<ModelArgument, "model" | "provider">,
  { current, app }: { readonly current: string; readonly app: Home },
): Promise<Result<ModelWish>> {
  const [{ loadCatalog }, { readCachedList }] = await Promise.all([
    import("../llm/catalog/catalog.ts"),
    import("../llm/catalog/list-cache.ts"),
  ])
  return meantModel(words, {
    current,
    catalog: await loadCatalog(),
    listed: (provider) => {
      const chosen = app.chooseModel({ provider: provider.id, model: "any" })
      const list = chosen.ok ? readCachedList(app.home, chosen.value.runtime.baseUrl) : undefined
      return (list?.models ?? []).map(({ id }) => id)
    },
    isConfigured: (provider) => isConfigured(provider, app),
    isOwn: (name) => isOwnProvider(name, app.config),
    aliases: { modelAliases: app.config.get("model_aliases"), shortAliases: app.config.get("model.aliases") },
  })
}

/**
 * The same for a model that was named when Hermes was started. A server of one's own may call its models anything, so a name for it
 * is taken as it is.
 */
export async function modelNamedAtStart(wish: ModelWish, app: Home): Promise<Result<ModelWish>> {
  const { model, provider } = wish
  const current = app.chooseModel(provider === undefined ? {} : { provider })
  const at = provider ?? (current.ok ? current.value.runtime.provider : undefined)
  if (model === undefined || at === undefined || !isSold(at, app)) return ok(wish)
  const words = provider === undefined ? splitProviderPrefix(model, (name) => isProvider(name, app)) : wish
  return await typedModel({ model: words.model, provider: words.provider }, { current: at, app })
}

/** A provider of the table, or one that the settings describe. */
export function isProvider(name: string, { config }: Pick<App, "config">): boolean {
  return findProvider(name) !== undefined || isOwnProvider(name, config)
}

/** With or without `custom:` before its name. Settings for a provider of the table do not make it one's own. */
function isOwnProvider(name: string, config: Config): boolean {
  const bare = name.replace(/^custom:/i, "")
  return isRecord(config.lookup(`providers.${bare}`)) && (bare !== name || findProvider(name)?.id !== name)
}

/** Somebody whose models are known by their names. */
function isSold(name: string, app: Home): boolean {
  const provider = findProvider(name)
  if (provider === undefined || provider.keyOptional === true || provider.baseUrl === "") return false
  // At another address that was named for it somebody else may answer.
  const chosen = app.chooseModel({ provider: provider.id, model: "any" })
  return !chosen.ok || chosen.value.ownAddress
}

/** Whoever takes any key or none says nothing about being chosen, and whether there are AWS keys only AWS can say. */
function isConfigured(provider: Provider, app: Home): boolean {
  if (provider.keyOptional === true || provider.neverAutomatic === true || provider.authType === "aws_sdk") return false
  return app.chooseModel({ provider: provider.id, model: provider.defaultModel || "any" }).ok
}
