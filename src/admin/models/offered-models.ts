import { loadCatalog, type Catalog } from "../../llm/catalog/catalog.ts"
import { findPrices } from "../../llm/catalog/find-prices.ts"
import { readManifest } from "../../llm/catalog/manifest.ts"
import { readCachedList } from "../../llm/catalog/model-list-cache.ts"
import type { ListedModel } from "../../llm/catalog/model-list.ts"
import { isSameName, modelNameFor, resolveAlias } from "../../llm/catalog/model-names.ts"
import { priceWarning } from "../../llm/catalog/price-warning.ts"
import type { Prices } from "../../llm/catalog/prices.ts"
import { refreshModelList } from "../../llm/catalog/refresh-model-list.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import type { Provider } from "../../llm/provider.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { providerRoute } from "./provider-route.ts"

/** A model in the list that the user chooses from. */
export interface OfferedModel {
  readonly id: string
  readonly contextLength?: number
  /** `$3 in, $15 out` per million tokens. */
  readonly price?: string
  /** A sentence with both prices and their source, for an expensive model. */
  readonly priceWarning?: string
}

export interface ModelOffer {
  readonly models: readonly OfferedModel[]
  /** Why the provider's own list is missing: the end of a sentence that begins with the provider's name. */
  readonly problem: string | undefined
}

/**
 * Lists a provider's models: from its endpoint, or else the cached list, or else the manifest or the catalogue. Empty when none of
 * them knows the provider. With `endpoint`, only the key given with that address is sent there. With `prefer: "cache"`, the endpoint
 * is asked only when there is no cached list.
 */
export async function listOfferedModels(
  home: LoadedHome,
  options: {
    readonly provider: Pick<Provider, "id">
    readonly endpoint?: { readonly baseUrl: string; readonly apiKey?: string }
    readonly prefer?: "endpoint" | "cache"
    readonly version: string
    readonly signal: AbortSignal
  },
): Promise<ModelOffer> {
  const { provider } = options
  const catalog = await loadCatalog()
  const route = providerRoute(home, provider.id, options.endpoint)
  const { listed, problem } = route === undefined ? NOTHING_LISTED : await listedModels(home, route, options)
  const known = readManifest(home.home)?.models[provider.id] ?? catalog.list(provider.id)
  const models = listed ?? known.map((id): ListedModel => ({ id }))
  return { models: models.map((model) => offer(model, provider, catalog)), problem }
}

/** Resolves a model name as typed by the user: a listed model, a built-in alias, or any other name. */
export function resolveOfferedModel(
  typed: string,
  { provider, offered }: { readonly provider: Provider; readonly offered: readonly OfferedModel[] },
): { readonly model: OfferedModel; readonly isListed: boolean } {
  const spelled = modelNameFor(provider, typed)
  const exact =
    offered.find(({ id }) => id === typed) ??
    offered.find(({ id }) => id.toLowerCase() === spelled.toLowerCase() && isSameName(id, typed))
  const aliased = resolveAlias(typed, { provider, models: offered.map(({ id }) => id) })
  const id = exact?.id ?? aliased ?? spelled
  const listed = exact ?? offered.find((model) => model.id === id)
  return { model: listed ?? { id }, isListed: listed !== undefined }
}

interface ListedModels {
  readonly listed: readonly ListedModel[] | undefined
  readonly problem: string | undefined
}

const NOTHING_LISTED: ListedModels = { listed: undefined, problem: undefined }

async function listedModels(
  home: LoadedHome,
  route: ChosenModel,
  options: { readonly version: string; readonly signal: AbortSignal; readonly prefer?: "endpoint" | "cache" },
): Promise<ListedModels> {
  const { version, signal, prefer } = options
  const cached = prefer === "cache" ? readCachedList(home.home, route.runtime.baseUrl)?.models : undefined
  if (cached !== undefined) return { listed: cached, problem: undefined }
  const fetched = await refreshModelList(route, { ...home, version, signal })
  if (fetched.ok) return { listed: fetched.value, problem: undefined }
  return { listed: readCachedList(home.home, route.runtime.baseUrl)?.models, problem: fetched.error }
}

function offer(model: ListedModel, provider: Pick<Provider, "id">, catalog: Catalog): OfferedModel {
  const contextLength = model.contextLength ?? catalog.find(provider.id, model.id)?.contextLength
  const prices = findPrices({ provider: provider.id, model: model.id, listed: model.prices }, catalog)
  const price = prices === undefined ? undefined : priceText(prices)
  const warning = priceWarning(model.id, prices)
  return {
    id: model.id,
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(price === undefined ? {} : { price }),
    ...(warning === undefined ? {} : { priceWarning: warning }),
  }
}

function priceText({ input, output }: Prices): string | undefined {
  if (input === null || output === null) return undefined
  return `$${usd(input)} in, $${usd(output)} out`
}

function usd(price: bigint): string {
  return String(Number((Number(price) / 1e9).toFixed(3)))
}
