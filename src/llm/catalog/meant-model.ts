import { fail, ok, type Result } from "../../base/result.ts"
import type { ModelWish } from "../choose-model.ts"
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

/** What there is to choose from in a home. */
export interface ModelPlaces {
  /** The provider of the conversation. */
  readonly current: string
  readonly catalog: Catalog
  /** What a provider's endpoint has listed the last time it was asked; empty when it never was. */
  readonly listed: (provider: Provider) => readonly string[]
  /** A table provider that can be asked: there is a key or a login for it. */
  readonly isConfigured: (provider: Provider) => boolean
  /** A provider of the settings, with or without `custom:` before its name. */
  readonly isOwn: (name: string) => boolean
  readonly aliases: Parameters<typeof findUserAlias>[1]
}

/**
 * Which model a typed name means, and at whom: the person's own short names first, then the built-in ones at the current provider
 * and at the others that can be asked, then whoever lists the name, the current provider before the others. A name that nobody
 * lists is taken as it is.
 */
export function meantModel(
  { model, provider: named }: Pick<ModelArgument, "model" | "provider">,
  places: ModelPlaces,
): Result<ModelWish> {
  if (named !== undefined) return atNamed(named, model, places)
  if (model === undefined) return fail("name a model")
  const own = findUserAlias(model, places.aliases)
  if (own !== undefined) return ok({ provider: places.current, ...own })
  const current = findProvider(places.current)
  if (isAlias(model)) return aliasSomewhere(model, current, places)
  if (current === undefined || listedAs(model, current, places) !== undefined)
    return ok({ provider: places.current, model: namedAt(model, current, places) })
  const other = others(current, places).find((provider) => listedAs(model, provider, places) !== undefined)
  const seller = other ?? current
  return ok({ provider: seller.id, model: namedAt(model, seller, places) })
}

/** The provider was named, so nobody else is asked. Without a model it is the provider's usual one, where it has one. */
function atNamed(named: string, model: string | undefined, places: ModelPlaces): Result<ModelWish> {
  const provider = places.isOwn(named) ? undefined : findProvider(named)
  if (provider === undefined) {
    if (!places.isOwn(named) && isModelVendor(named)) return fail(noSeller(named, places))
    return ok({ provider: named, ...(model === undefined ? {} : { model }) })
  }
  const wanted = model ?? provider.defaultModel
  if (wanted === "") return ok({ provider: provider.id })
  if (!isAlias(wanted)) return ok({ provider: provider.id, model: namedAt(wanted, provider, places) })
  const meant = resolveAlias(wanted, { provider, models: modelsOf(provider, places) })
  return meant === undefined
    ? fail(`${provider.name} has no model that "${wanted}" stands for`)
    : ok({ provider: provider.id, model: meant })
}

function aliasSomewhere(alias: string, current: Provider | undefined, places: ModelPlaces): Result<ModelWish> {
  for (const provider of current === undefined ? others(undefined, places) : [current, ...others(current, places)]) {
    const meant = resolveAlias(alias, { provider, models: modelsOf(provider, places) })
    if (meant !== undefined) return ok({ provider: provider.id, model: meant })
  }
  const here = current?.name ?? places.current
  return fail(`${here} has no model that "${alias}" stands for, and nobody else with a key here has one`)
}

/** Makes models, but sells none by that name: an aggregator would be asked that nobody has chosen. */
function noSeller(vendor: string, places: ModelPlaces): string {
  const sellers = PROVIDERS.filter(({ aggregator }) => aggregator === true)
  const usable = sellers.find((provider) => places.isConfigured(provider)) ?? sellers[0]
  const example = usable === undefined ? "" : `, for example --provider ${usable.id}`
  return `${vendor} makes models but is no provider here; name one that serves them${example}`
}

function others(current: Provider | undefined, places: ModelPlaces): readonly Provider[] {
  return PROVIDERS.filter((provider) => provider !== current && places.isConfigured(provider))
}

function isAlias(name: string): boolean {
  return builtInAliases().includes(name.trim().toLowerCase())
}

function modelsOf(provider: Provider, { catalog, listed }: ModelPlaces): readonly string[] {
  return [...new Set([...catalog.list(provider.id), ...listed(provider)])]
}

/** The provider's own spelling of a name it lists. */
function listedAs(name: string, provider: Provider, places: ModelPlaces): string | undefined {
  const spelled = modelNameFor(provider, name)
  return (
    places.catalog.find(provider.id, spelled)?.id ??
    places.listed(provider).find((id) => id.toLowerCase() === spelled.toLowerCase())
  )
}

function namedAt(name: string, provider: Provider | undefined, places: ModelPlaces): string {
  if (provider === undefined) return name
  return listedAs(name, provider, places) ?? modelNameFor(provider, name)
}
