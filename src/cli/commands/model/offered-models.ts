import { loadCatalog, type Catalog } from "../../../llm/catalog/catalog.ts"
import { findPrices } from "../../../llm/catalog/find-prices.ts"
import { readCachedList } from "../../../llm/catalog/list-cache.ts"
import { readManifest } from "../../../llm/catalog/manifest.ts"
import type { ListedModel } from "../../../llm/catalog/model-list.ts"
import type { Price, Prices } from "../../../llm/catalog/prices.ts"
import { chooseModel, type ChosenModel } from "../../../llm/choose-model.ts"
import type { Provider } from "../../../llm/provider.ts"
import { reachedAs, type ModelPlace } from "./place.ts"
import { fetchAndKeep } from "./refresh.ts"

/** A model in the list a person chooses from. */
export interface OfferedModel {
  readonly id: string
  readonly contextLength?: number
  /** `$3 in, $15 out` for a million tokens. */
  readonly price?: string
  readonly prices?: Prices
}

/** An address with the key that was given for it, and with no other. */
export interface OwnEndpoint {
  readonly baseUrl: string
  readonly key?: string
}

/** The provider's models: from its endpoint, else as last fetched, else from the manifest or the catalogue; none when nobody knows. */
export async function offeredModels(
  place: ModelPlace,
  seller: { readonly provider: Provider; readonly endpoint?: OwnEndpoint },
): Promise<readonly OfferedModel[]> {
  const { provider, endpoint } = seller
  const catalog = await loadCatalog()
  const chosen = endpoint === undefined ? reachedAs(place, provider.id) : reachedAt(place, provider, endpoint)
  const listed = chosen === undefined ? undefined : await listedModels(place, chosen)
  const known = readManifest(place.home)?.models[provider.id] ?? catalog.list(provider.id)
  const models = listed ?? known.map((id): ListedModel => ({ id }))
  return models.map((model) => offer(model, provider, catalog))
}

/** A sentence when a model is dear, with both prices and who says so; undefined for known, modest and unknown prices. */
export function priceWarning({ id, price, prices }: OfferedModel): string | undefined {
  if (prices === undefined || price === undefined) return undefined
  const dear = exceeds(prices.input, 20n) || exceeds(prices.output, 100n)
  return dear ? `${id} is expensive: ${price} for a million tokens (${prices.source}, ${prices.version}).` : undefined
}

function reachedAt(place: ModelPlace, provider: Provider, endpoint: OwnEndpoint): ChosenModel | undefined {
  const { config, environment } = place
  const { baseUrl, key } = endpoint
  const wish = { provider: provider.id, model: "any", baseUrl, ...(key === undefined ? {} : { apiKey: key }) }
  const chosen = chooseModel(wish, { config, environment, stored: [] })
  return chosen.ok ? chosen.value : undefined
}

async function listedModels(place: ModelPlace, chosen: ChosenModel): Promise<readonly ListedModel[] | undefined> {
  const fetched = await fetchAndKeep(place, chosen)
  if (fetched.ok) return fetched.value
  place.terminal.errLine(`${chosen.runtime.provider} ${fetched.error}; showing what is known without it.`)
  return readCachedList(place.home, chosen.runtime.baseUrl)?.models
}

function offer(model: ListedModel, provider: Provider, catalog: Catalog): OfferedModel {
  const known = catalog.find(provider.id, model.id)
  const contextLength = model.contextLength ?? known?.contextLength
  const prices = findPrices({ provider: provider.id, model: model.id, listed: model.prices }, catalog)
  const price = prices === undefined ? undefined : priceText(prices)
  return {
    id: model.id,
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(prices === undefined || price === undefined ? {} : { prices, price }),
  }
}

const PER_USD = 1_000_000_000n

function exceeds(price: Price, usd: bigint): boolean {
  return price !== null && price > usd * PER_USD
}

function priceText({ input, output }: Prices): string | undefined {
  if (input === null || output === null) return undefined
  return `$${usd(input)} in, $${usd(output)} out`
}

function usd(price: bigint): string {
  return String(Number((Number(price) / 1e9).toFixed(3)))
}
