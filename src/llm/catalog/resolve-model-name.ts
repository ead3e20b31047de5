import { fail, ok, type Result } from "../../base/result.ts"
import type { ModelSelection } from "../choose-model.ts"
import type { Provider } from "../provider.ts"
import { PROVIDERS, findProvider } from "../providers.ts"
import type { Catalog } from "./catalog.ts"
import {
  builtInAliases,
  findUserAlias,
  isModelVendor,
  modelNameFor,
  resolveAlias,
  type ModelArgument,
} from "./model-names.ts"

/** The models and providers that a typed name may refer to. */
export interface ModelNameContext {
  /** The provider of the conversation. */
  readonly current: string
  readonly catalog: Catalog
  /** The cached model list of a provider's endpoint; empty when it was never fetched. */
  readonly listed: (provider: Provider) => readonly string[]
  /** True when there is a key or login for a built-in provider. */
  readonly hasCredentials: (provider: Provider) => boolean
  /** True for a provider of the settings, with or without the prefix `custom:`. */
  readonly isConfiguredProvider: (name: string) => boolean
  readonly aliases: Parameters<typeof findUserAlias>[1]
}

/**
 * Resolves a model name as typed by the user to a provider and model. Order: the user's aliases; the built-in aliases, at the
 * current provider and then at other providers with credentials; then a provider that lists the name, the current one first. A name that
 * no provider lists is used unchanged.
 */
export function resolveModelName(
  { model, provider: named }: Pick<ModelArgument, "model" | "provider">,
  context: ModelNameContext,
): Result<ModelSelection> {
  if (named !== undefined) return atNamedProvider(named, model, context)
  if (model === undefined) return fail("name a model")
  const alias = findUserAlias(model, context.aliases)
  if (alias !== undefined) return ok({ provider: context.current, ...alias })
  const current = findProvider(context.current)
  if (isAlias(model)) return resolveBuiltInAlias(model, current, context)
  if (current === undefined || listedAs(model, current, context) !== undefined)
    return ok({ provider: context.current, model: nameAtProvider(model, current, context) })
  const other = otherProviders(current, context).find((provider) => listedAs(model, provider, context) !== undefined)
  const target = other ?? current
  return ok({ provider: target.id, model: nameAtProvider(model, target, context) })
}

/** The user named the provider, so no other is considered. Without a model, the provider's default is used, if it has one. */
function atNamedProvider(named: string, model: string | undefined, context: ModelNameContext): Result<ModelSelection> {
  const provider = context.isConfiguredProvider(named) ? undefined : findProvider(named)
  if (provider === undefined) {
    if (!context.isConfiguredProvider(named) && isModelVendor(named)) return fail(vendorIsNoProvider(named, context))
    return ok({ provider: named, ...(model === undefined ? {} : { model }) })
  }
  const wanted = model ?? provider.defaultModel
  if (wanted === "") return ok({ provider: provider.id })
  if (!isAlias(wanted)) return ok({ provider: provider.id, model: nameAtProvider(wanted, provider, context) })
  const resolved = resolveAlias(wanted, { provider, models: modelsOf(provider, context) })
  return resolved === undefined
    ? fail(`${provider.name} has no model for the alias "${wanted}"`)
    : ok({ provider: provider.id, model: resolved })
}

function resolveBuiltInAlias(
  alias: string,
  current: Provider | undefined,
  context: ModelNameContext,
): Result<ModelSelection> {
  for (const provider of current === undefined
    ? otherProviders(undefined, context)
    : [current, ...otherProviders(current, context)]) {
    const resolved = resolveAlias(alias, { provider, models: modelsOf(provider, context) })
    if (resolved !== undefined) return ok({ provider: provider.id, model: resolved })
  }
  const here = current?.name ?? context.current
  return fail(`${here} has no model for the alias "${alias}", nor has any other provider with a key`)
}

/** A vendor name is not a provider here, and sending the request to some aggregator would be an unexpected choice. */
function vendorIsNoProvider(vendor: string, context: ModelNameContext): string {
  const aggregators = PROVIDERS.filter(({ aggregator }) => aggregator === true)
  const usable = aggregators.find((provider) => context.hasCredentials(provider)) ?? aggregators[0]
  const example = usable === undefined ? "" : `, for example --provider ${usable.id}`
  return `${vendor} is a model vendor, not a provider; choose a provider that serves its models${example}`
}

function otherProviders(current: Provider | undefined, context: ModelNameContext): readonly Provider[] {
  return PROVIDERS.filter((provider) => provider !== current && context.hasCredentials(provider))
}

function isAlias(name: string): boolean {
  return builtInAliases().includes(name.trim().toLowerCase())
}

function modelsOf(provider: Provider, { catalog, listed }: ModelNameContext): readonly string[] {
  return [...new Set([...catalog.list(provider.id), ...listed(provider)])]
}

/** Returns the provider's own spelling of a name it lists. */
function listedAs(name: string, provider: Provider, context: ModelNameContext): string | undefined {
  const spelled = modelNameFor(provider, name)
  return (
    context.catalog.find(provider.id, spelled)?.id ??
    context.listed(provider).find((id) => id.toLowerCase() === spelled.toLowerCase())
  )
}

function nameAtProvider(name: string, provider: Provider | undefined, context: ModelNameContext): string {
  if (provider === undefined) return name
  return listedAs(name, provider, context) ?? modelNameFor(provider, name)
}
