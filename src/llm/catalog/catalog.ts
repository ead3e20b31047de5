import { isRecord } from "../../base/json.ts"
import { priceFrom, type Prices, type PriceTier, type PriceSet } from "./prices.ts"

/** What is known about a model before anybody asks its provider. */
export interface CatalogModel {
  readonly id: string
  readonly contextLength: number
  readonly maxOutput: number
  readonly prices: Prices
  readonly reasoning: boolean
  readonly vision: boolean
  /** False where the model refuses a temperature. */
  readonly temperature: boolean
  /** Thinks as long as it sees fit and is only told an effort. */
  readonly adaptiveThinking: boolean
}

export interface Catalog {
  /** Where the data came from, for the session's records. */
  readonly version: string
  find(provider: string, model: string): CatalogModel | undefined
  /** The ids of a provider's models; empty when the catalogue does not cover it. */
  list(provider: string): readonly string[]
}

/** The snapshot that travels with this release. Loaded when it is first asked for: it is larger than everything else a start needs. */
export async function loadCatalog(): Promise<Catalog> {
  const { snapshot } = await import("./snapshot.ts")
  return catalogFrom(snapshot)
}

export function catalogFrom(data: CatalogData): Catalog {
  const { version } = data
  return {
    version,
    find: (provider, model) => {
      const models = modelsOf(data, provider)
      const id = idIn(models, model)
      const row = id === undefined ? undefined : models[id]
      return id === undefined || row === undefined ? undefined : modelFrom(id, row, version)
    },
    list: (provider) => Object.keys(modelsOf(data, provider)),
  }
}

/** Provider to model to its row; what the places of a row mean is said in `scripts/generate-model-catalog.mjs`. */
export interface CatalogData {
  readonly version: string
  readonly providers: Readonly<Record<string, CatalogModels>>
}

type CatalogModels = Readonly<Record<string, readonly (number | null)[]>>

/** The same models behind another login. */
const SAME_MODELS: Readonly<Record<string, string>> = { "xai-oauth": "xai", "minimax-oauth": "minimax" }

function modelsOf(data: CatalogData, provider: string): CatalogModels {
  const name = SAME_MODELS[provider] ?? provider
  const models = Object.hasOwn(data.providers, name) ? data.providers[name] : undefined
  return isRecord(models) ? models : {}
}

/** Case and the dots of version numbers are written differently from vendor to vendor; an exact name wins. */
function idIn(models: CatalogModels, wanted: string): string | undefined {
  if (Object.hasOwn(models, wanted)) return wanted
  const plain = plainName(wanted)
  return Object.keys(models).find((id) => plainName(id) === plain)
}

function plainName(id: string): string {
  return id.toLowerCase().replaceAll(/(?<=\d)\.(?=\d)/g, "-")
}

function modelFrom(id: string, row: readonly (number | null)[], version: string): CatalogModel {
  const [contextLength, maxOutput] = row
  const flags = row[6] ?? 0
  return {
    id,
    contextLength: contextLength ?? 0,
    maxOutput: maxOutput ?? 0,
    prices: { ...priceSet(row, 2), tiers: tiersOf(row), source: "catalog", version },
    reasoning: (flags & 1) !== 0,
    vision: (flags & 2) !== 0,
    temperature: (flags & 4) === 0,
    adaptiveThinking: (flags & 8) !== 0,
  }
}

function tiersOf(row: readonly (number | null)[]): readonly PriceTier[] {
  const tiers: PriceTier[] = []
  for (let at = 7; at + 4 < row.length; at += 5) tiers.push({ above: row[at] ?? 0, ...priceSet(row, at + 1) })
  return tiers
}

function priceSet(row: readonly (number | null)[], at: number): PriceSet {
  return {
    input: priceFrom(row[at]),
    output: priceFrom(row[at + 1]),
    cacheRead: priceFrom(row[at + 2]),
    cacheWrite: priceFrom(row[at + 3]),
  }
}
