import { isRecord } from "../../base/json.ts"
import { ok, type Result } from "../../base/result.ts"
import type { Config } from "../../config/load-config.ts"
import { resolveModelName, type ResolvedModelName } from "../../llm/catalog/resolve-model-name.ts"
import { splitProviderPrefix, type ModelArgument } from "../../llm/catalog/model-names.ts"
import type { ModelSelection } from "../../llm/choose-model.ts"
import { findConfiguredProvider } from "../../llm/configured-provider.ts"
import { usesCloudIdentity, type Provider } from "../../llm/provider.ts"
import { findProvider } from "../../llm/providers.ts"
import type { App } from "../app.ts"

type Home = Pick<App, "config" | "home" | "chooseModel">

/** Resolves a model name as typed by the user to a provider and model of this home; see `resolveModelName`. */
export async function resolveTypedModel(
  words: Pick<ModelArgument, "model" | "provider">,
  {
    current,
    app,
    mayChangeProvider,
  }: { readonly current: string; readonly app: Home; readonly mayChangeProvider: boolean },
): Promise<Result<ResolvedModelName>> {
  const [{ loadCatalog }, { readCachedList }] = await Promise.all([
    import("../../llm/catalog/catalog.ts"),
    import("../../llm/catalog/model-list-cache.ts"),
  ])
  return resolveModelName(words, {
    current,
    mayChangeProvider,
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
 * Resolves `--model` and `model.default`. A custom server may name its models freely, so a name for one is not changed. A provider that
 * the user configured is not left for another one.
 */
export async function resolveModelOption(selection: ModelSelection, app: Home): Promise<Result<ResolvedModelName>> {
  const { model, provider } = selection
  const current = app.chooseModel(provider === undefined ? {} : { provider })
  const at = provider ?? (current.ok ? current.value.runtime.provider : undefined)
  if (model === undefined || at === undefined || !isSold(at, app)) return ok({ selection, notice: undefined })
  const words = provider === undefined ? splitProviderPrefix(model, (name) => isProvider(name, app)) : selection
  const mayChangeProvider = ["", "auto"].includes(app.config.get("model.provider"))
  return await resolveTypedModel(
    { model: words.model, provider: words.provider },
    { current: at, app, mayChangeProvider },
  )
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
  if (provider === undefined || provider.keyOptional === true) return false
  // Deployments at Azure have names that the user has chosen.
  if (provider.baseUrl === "" && provider.cloud !== "google") return false
  // A configured address may belong to another server.
  const chosen = app.chooseModel({ provider: provider.id, model: "any" })
  return !chosen.ok || chosen.value.usesDefaultEndpoint || hasOwnAddress(provider.id, app.config)
}

/** `providers.<name>.base_url` of a provider of the table is another way to the same models. */
function hasOwnAddress(id: string, config: Config): boolean {
  return findConfiguredProvider(id, config)?.hasOwnAddress === true && config.get("model.base_url") === ""
}

/** Whether the user has a key for it. Unknown for providers that need none, and for AWS, where only a request can tell. */
function isConfigured(provider: Provider, app: Home): boolean {
  if (provider.keyOptional === true || provider.neverAutomatic === true || usesCloudIdentity(provider)) return false
  return app.chooseModel({ provider: provider.id, model: provider.defaultModel || "any" }).ok
}
