import { shortList } from "../../base/short-list.ts"
import { isRecord } from "../../base/json.ts"
import { nearest } from "../../base/nearest-name.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import type { Catalog, CatalogModel } from "../../llm/catalog/catalog.ts"
import { parseModelArgument, toolUseWarning, type ModelArgument } from "../../llm/catalog/model-names.ts"
import type { ResolvedModelName } from "../../llm/catalog/resolve-model-name.ts"
import type { ChosenModel, ModelChoiceFailure, ModelSelection } from "../../llm/choose-model.ts"
import { readCachedList } from "../../llm/catalog/model-list-cache.ts"
import { CUSTOM_PROVIDER } from "../../llm/providers.ts"
import type { App } from "../app.ts"
import { isProvider, resolveTypedModel } from "./resolve-model.ts"

/** The parts of an app that choosing another model needs. */
type ModelApp = Pick<App, "config" | "home" | "chooseModel" | "refreshModels">

/** A model that a conversation can switch to. Nothing has changed yet. */
export interface ModelSwitch {
  readonly chosen: ChosenModel
  readonly facts: ModelFacts | undefined
  /** A sentence for the user when the model or the provider is not the one that was typed. */
  readonly notice: string | undefined
  /** Sentences for the user. */
  readonly warnings: ModelWarnings
}

export type ModelFacts = Pick<CatalogModel, "contextLength" | "maxOutput" | "vision" | "reasoning">

export interface ModelWarnings {
  /** The catalogue does not have the name, and the endpoint's list could not be fetched. */
  readonly unlisted: string | undefined
  /** Both prices of an expensive model; the user should confirm them. */
  readonly price: string | undefined
  readonly toolUse: string | undefined
}

/** Parses the argument of `/model`. Fails with a message that names the mistake. */
export function parseModelWords(argument: string, app: Pick<App, "config">): Result<ModelArgument> {
  return parseModelArgument(argument, (name) => isProvider(name, app))
}

/** What the catalogue knows about a model. */
export async function findModelFacts(provider: string, model: string): Promise<ModelFacts | undefined> {
  return (await openCatalog()).find(provider, model)
}

/** Why a model cannot be used: an unknown name, a missing key, … */
export interface SwitchRefusal {
  readonly message: string
  /** The provider whose key is missing. */
  readonly needsKeyOf?: string
}

/** A server that the user named by its address, and the key for it. */
export type NamedServer = Pick<ModelSelection, "apiKey" | "keyVariable" | "listedWindow"> & {
  readonly baseUrl: string
}

/** What the user typed or chose. With a server, the model is one of that server. */
export interface ModelWords extends Pick<ModelArgument, "model" | "provider"> {
  readonly server?: NamedServer
}

interface SwitchContext {
  readonly app: ModelApp
  /** The model of the conversation. */
  readonly current: Pick<ChosenModel, "runtime" | "key">
  readonly signal: AbortSignal
}

/** Resolves the typed words to a model that can be used here. */
export async function prepareModelSwitch(
  words: ModelWords,
  context: SwitchContext,
): Promise<Result<ModelSwitch, SwitchRefusal>> {
  const { app, signal } = context
  const server = words.server ?? serverOfConversation(words, context)
  const resolved =
    server !== undefined && words.model !== undefined
      ? ok({ selection: { provider: CUSTOM_PROVIDER.id, model: words.model, ...server }, notice: undefined })
      : await selectModel(words, context)
  if (!resolved.ok) return resolved
  const { selection } = resolved.value
  const chosen = app.chooseModel(selection)
  if (!chosen.ok) return fail(refusalOf(chosen.error, selection.provider))
  const { runtime } = chosen.value
  const catalog = await openCatalog()
  const facts = catalog.find(runtime.provider, runtime.model)
  const unlisted = facts === undefined ? await checkUnlistedName(chosen.value, catalog, { app, signal }) : ok(undefined)
  if (!unlisted.ok) return fail({ message: unlisted.error })
  return ok({
    chosen: chosen.value,
    facts,
    notice: resolved.value.notice,
    warnings: {
      unlisted: unlisted.value,
      price: await findPriceWarning(chosen.value, catalog, app),
      toolUse: toolUseWarning(runtime.model),
    },
  })
}

/**
 * A name without a provider stays at the server of the conversation, whose address may not be in the settings. A server may name its
 * models freely, so the name is one of its list.
 */
function serverOfConversation(
  { model, provider }: ModelWords,
  { app, current: { runtime, key } }: SwitchContext,
): NamedServer | undefined {
  if (model === undefined || provider !== undefined || runtime.provider !== CUSTOM_PROVIDER.id) return undefined
  const configured = app.chooseModel({ provider: CUSTOM_PROVIDER.id, model })
  if (configured.ok && configured.value.runtime.baseUrl === runtime.baseUrl) return undefined
  const isListed = readCachedList(app.home, runtime.baseUrl)?.models.some(({ id }) =>
    [model, `${model}:latest`].includes(id),
  )
  if (isListed !== true) return undefined
  return { baseUrl: runtime.baseUrl, ...(key === undefined ? {} : { apiKey: key }) }
}

function refusalOf({ code, message }: ModelChoiceFailure, provider: string | undefined): SwitchRefusal {
  return code === "missing_key" && provider !== undefined ? { message, needsKeyOf: provider } : { message }
}

async function openCatalog(): Promise<Catalog> {
  const { loadCatalog } = await import("../../llm/catalog/catalog.ts")
  return await loadCatalog()
}

/** A provider without a model means the only model it has, or the default of a configured provider. */
async function selectModel(
  words: Pick<ModelArgument, "model" | "provider">,
  context: SwitchContext,
): Promise<Result<ResolvedModelName, SwitchRefusal>> {
  const { app } = context
  const current = context.current.runtime.provider
  const resolved = await resolveTypedModel(words, { current, app, mayChangeProvider: true })
  if (!resolved.ok) return fail({ message: resolved.error })
  if (resolved.value.selection.model !== undefined) return resolved
  const { selection, notice } = resolved.value
  const model = await findOnlyModel(selection.provider ?? "", context)
  return model.ok ? ok({ selection: { ...selection, model: model.value }, notice }) : model
}

async function findOnlyModel(
  provider: string,
  { app, signal }: { readonly app: ModelApp; readonly signal: AbortSignal },
): Promise<Result<string, SwitchRefusal>> {
  const configured = app.config.lookup(`providers.${provider.replace(/^custom:/i, "")}`)
  const preset = isRecord(configured) ? (configured["default_model"] ?? configured["model"]) : undefined
  if (typeof preset === "string" && preset !== "") return ok(preset)
  const chosen = app.chooseModel({ provider, model: "any" })
  if (!chosen.ok) return fail(refusalOf(chosen.error, provider))
  const listed = await app.refreshModels(chosen.value, signal)
  if (!listed.ok) return fail({ message: `${provider} ${listed.error}; name the model as well` })
  const [first, ...others] = listed.value
  if (first === undefined) return fail({ message: `${provider} has no models` })
  if (others.length === 0) return ok(first.id)
  return fail({
    message: `${provider} has several models; name one with /model --provider ${provider} NAME: ${shortList(listed.value.map(({ id }) => id))}`,
  })
}

/** For a name outside the catalogue the endpoint's own list decides, if there is one. Returns a warning, or fails. */
async function checkUnlistedName(
  chosen: ChosenModel,
  catalog: Catalog,
  { app, signal }: { readonly app: ModelApp; readonly signal: AbortSignal },
): Promise<Result<string | undefined>> {
  const { runtime } = chosen
  const { findListedModel } = await import("../../llm/catalog/model-list-cache.ts")
  if (isDeclared(runtime, app) || findListedModel(app.home, runtime) !== undefined) return ok(undefined)
  const listed = await app.refreshModels(chosen, signal)
  if (!listed.ok) {
    return ok(`It is not in the catalogue${closestName(catalog.list(runtime.provider), runtime.model)}.`)
  }
  const names = listed.value.map(({ id }) => id)
  // Ollama adds a tag to a name without one.
  if (names.includes(runtime.model) || names.includes(`${runtime.model}:latest`)) return ok(undefined)
  const hint = closestName(names, runtime.model) || (names.length === 0 ? "" : `; it has ${shortList(names)}`)
  return fail(`${runtime.provider} does not list a model "${runtime.model}"${hint}`)
}

/** Models that the settings declare for a provider are accepted without asking its endpoint. */
function isDeclared({ provider, model }: ChosenModel["runtime"], { config }: ModelApp): boolean {
  const models = config.lookup(`providers.${provider}.models`)
  if (Array.isArray(models))
    return models.some((entry) => entry === model || (isRecord(entry) && entry["id"] === model))
  return isRecord(models) && Object.hasOwn(models, model)
}

const MAX_TYPOS = 4

function closestName(names: readonly string[], typed: string): string {
  const closest = nearest(typed, names, MAX_TYPOS)
  return closest === undefined ? "" : `; the closest name is ${closest}`
}

async function findPriceWarning(
  { runtime }: ChosenModel,
  catalog: Catalog,
  { home }: ModelApp,
): Promise<string | undefined> {
  if (runtime.billingMode !== "metered") return undefined
  const [{ priceWarning }, { findPrices }, { findListedModel }] = await Promise.all([
    import("../../llm/catalog/price-warning.ts"),
    import("../../llm/catalog/find-prices.ts"),
    import("../../llm/catalog/model-list-cache.ts"),
  ])
  const listed = findListedModel(home, runtime)?.prices
  return priceWarning(runtime.model, findPrices({ ...runtime, listed }, catalog))
}
