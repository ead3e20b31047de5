import { fail, ok, type Result } from "../../base/result.ts"
import type { ModelSelection } from "../choose-model.ts"
import type { Provider } from "../provider.ts"
import { PROVIDERS, findProvider } from "../providers.ts"
import type { Catalog } from "./catalog.ts"
import {
  builtInAliases,
  findAliasedModel,
  findUserAlias,
  isModelVendor,
  isSameName,
  modelNameFor,
  resolveAlias,
  type ModelArgument,
} from "./model-names.ts"

/** The models and providers that a typed name may refer to. */
export interface ModelNameContext {
  /** The provider of the conversation. */
  readonly current: string
  /** False when the user configured the current provider: its requests and its key stay there. */
  readonly mayChangeProvider: boolean
  readonly catalog: Catalog
  /** The cached model list of a provider's endpoint; empty when it was never fetched. */
  readonly listed: (provider: Provider) => readonly string[]
  /** True when there is a key or login for a built-in provider. */
  readonly hasCredentials: (provider: Provider) => boolean
  /** True for a provider of the settings, with or without the prefix `custom:`. */
  readonly isConfiguredProvider: (name: string) => boolean
  readonly aliases: Parameters<typeof findUserAlias>[1]
}

export interface ResolvedModelName {
  readonly selection: ModelSelection
  /** A sentence for the user when the model or the provider is not the one that was typed. */
  readonly notice: string | undefined
}

/**
 * Resolves a model name as typed by the user to a provider and model. Order: the user's aliases; a model that the current provider lists
 * under exactly this name; the built-in aliases, at the current provider and then at others with credentials; then a provider that lists
 * the name, the current one first. A name that no provider lists is used unchanged.
 */
export function resolveModelName(
  { model, provider: named }: Pick<ModelArgument, "model" | "provider">,
  context: ModelNameContext,
): Result<ResolvedModelName> {
  if (named !== undefined) return atNamedProvider(named, model, context)
  if (model === undefined) return fail("name a model")
  const current = findProvider(context.current)
  if (current === undefined && !context.isConfiguredProvider(context.current))
    return withoutCurrentProvider(model, context)
  const alias = findUserAlias(model, context.aliases)
  if (alias !== undefined) return ok(resolved(model, { provider: context.current, ...alias }))
  const exact = current === undefined ? undefined : exactlyListedAs(model, current, context)
  if (exact !== undefined) return ok(resolved(model, { provider: context.current, model: exact }))
  const aliased = findAliasedModel(model, context.aliases)
  if (aliased !== undefined) return ok(resolved(model, { provider: context.current, ...aliased }, context.current))
  if (isAlias(model)) return resolveBuiltInAlias(model, current, context)
  if (current === undefined || listedAs(model, current, context) !== undefined)
    return ok(resolved(model, { provider: context.current, model: nameAtProvider(model, current, context) }))
  const other = otherProviders(current, context).find((provider) => listedAs(model, provider, context) !== undefined)
  const target = context.mayChangeProvider ? (other ?? current) : current
  const selection = { provider: target.id, model: nameAtProvider(model, target, context) }
  if (other === undefined) return ok(resolved(model, selection))
  return ok({
    selection,
    notice:
      target === current
        ? `${current.name} is not known to have ${model}. ${other.name} has it: use --provider ${other.id} to send the request there.`
        : `${current.name} is not known to have ${model}, so requests go to ${other.name} as ${selection.model}. To stay at ${current.name}, use --provider ${current.id}.`,
  })
}

/** The conversation has no provider to stay at: it has no model yet, or the demo. */
function withoutCurrentProvider(model: string, context: ModelNameContext): Result<ResolvedModelName> {
  const alias = findUserAlias(model, context.aliases) ?? findAliasedModel(model, context.aliases)
  if (alias !== undefined) return ok({ selection: alias, notice: undefined })
  const providers = otherProviders(undefined, context)
  const [found] = providers.flatMap((provider) => {
    const listed = listedAs(model, provider, context)
    const exact = listed === undefined ? undefined : { provider: provider.id, model: listed }
    return (isAlias(model) ? expandAt(model, provider, context) : exact) ?? []
  })
  if (found !== undefined) return ok({ selection: found, notice: undefined })
  return fail(`no provider with a key is known to have ${model}; name its provider with --provider P`)
}

/** Adds a notice when the name that is sent, or its provider, differs from what the user typed. */
function resolved(typed: string, selection: ModelSelection, current = selection.provider): ResolvedModelName {
  const { model = typed, provider } = selection
  const isChanged = model !== typed.trim() || provider !== current || selection.baseUrl !== undefined
  const address = selection.baseUrl === undefined ? "" : ` at ${selection.baseUrl}`
  return {
    selection,
    notice: isChanged ? `The model name ${typed} stands for ${model} (${provider ?? ""}${address}).` : undefined,
  }
}

/** The user named the provider, so no other is considered. Without a model, the provider's default is used, if it has one. */
function atNamedProvider(
  named: string,
  model: string | undefined,
  context: ModelNameContext,
): Result<ResolvedModelName> {
  const provider = context.isConfiguredProvider(named) ? undefined : findProvider(named)
  if (provider === undefined) {
    if (!context.isConfiguredProvider(named) && isModelVendor(named)) return fail(vendorIsNoProvider(named, context))
    return ok({ selection: { provider: named, ...(model === undefined ? {} : { model }) }, notice: undefined })
  }
  const wanted = model ?? provider.defaultModel
  if (wanted === "") return ok({ selection: { provider: provider.id }, notice: undefined })
  const exact = exactlyListedAs(wanted, provider, context)
  if (exact !== undefined || !isAlias(wanted)) {
    return ok(resolved(wanted, { provider: provider.id, model: exact ?? nameAtProvider(wanted, provider, context) }))
  }
  const expanded = resolveAlias(wanted, { provider, models: modelsOf(provider, context) })
  return expanded === undefined
    ? fail(`${provider.name} has no model for the alias "${wanted}"`)
    : ok(resolved(wanted, { provider: provider.id, model: expanded }))
}

function resolveBuiltInAlias(
  alias: string,
  current: Provider | undefined,
  context: ModelNameContext,
): Result<ResolvedModelName> {
  const here = current === undefined ? undefined : expandAt(alias, current, context)
  if (here !== undefined) return ok(resolved(alias, here))
  const name = current?.name ?? context.current
  const missing = `${name} has no model for the alias "${alias}"`
  const others = otherProviders(current, context)
  const there = others.map((provider) => expandAt(alias, provider, context)).find((found) => found !== undefined)
  if (there === undefined) return fail(`${missing}, nor has any other provider with a key`)
  if (!context.mayChangeProvider) {
    return fail(`${missing}; ${there.provider} has ${there.model}: add --provider ${there.provider} to use it`)
  }
  const notice = `${name} has no model for the alias ${alias}, so requests go to ${there.provider} as ${there.model}. To stay at ${name}, name one of its models.`
  return ok({ selection: there, notice })
}

function expandAt(
  alias: string,
  provider: Provider,
  context: ModelNameContext,
): { readonly provider: string; readonly model: string } | undefined {
  const model = resolveAlias(alias, { provider, models: modelsOf(provider, context) })
  return model === undefined ? undefined : { provider: provider.id, model }
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

/**
 * The same, but only for the name that the user typed, in the provider's spelling: `o3`, or `openai/o3` at an aggregator. Some
 * providers also map unknown names to a general model, which is not the model that was typed.
 */
function exactlyListedAs(name: string, provider: Provider, context: ModelNameContext): string | undefined {
  const id = listedAs(name, provider, context)
  return id !== undefined && isSameName(id, name) ? id : undefined
}

function nameAtProvider(name: string, provider: Provider | undefined, context: ModelNameContext): string {
  if (provider === undefined) return name
  return listedAs(name, provider, context) ?? modelNameFor(provider, name)
}
