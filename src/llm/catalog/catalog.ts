import { isRecord } from "../../base/json.ts"
import { parsePrice, type Prices, type PriceTier, type PriceSet } from "./prices.ts"

/** What the catalogue knows about a model. */
export interface CatalogModel {
  readonly id: string
  readonly contextLength: number
  readonly maxOutput: number
  readonly prices: Prices
  readonly reasoning: boolean
  readonly vision: boolean
  /** False when the model does not accept a temperature. */
  readonly temperature: boolean
  /** Decides itself how long to reason; requests set only an effort. */
  readonly adaptiveThinking: boolean
}

export interface Catalog {
  /** The version of the data, stored with a session's costs. */
  readonly version: string
  find(provider: string, model: string): CatalogModel | undefined
  /** Returns the ids of a provider's models; empty when the catalogue does not cover the provider. */
  list(provider: string): readonly string[]
}

/** Loads the catalogue that ships with this release. Call it only when needed, because the file is large. */
export async function loadCatalog(): Promise<Catalog> {
  const { snapshot } = await import("./snapshot.ts")
  return createCatalog(snapshot)
}

export function createCatalog(data: CatalogData): Catalog {
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

/** Maps provider to model to row; `scripts/generate-model-catalog.mjs` documents the columns of a row. */
export interface CatalogData {
  readonly version: string
  readonly providers: Readonly<Record<string, CatalogModels>>
}

type CatalogModels = Readonly<Record<string, readonly (number | null)[]>>

/** Providers that offer the same models with another login. */
const SAME_MODELS: Readonly<Record<string, string>> = { "xai-oauth": "xai", "minimax-oauth": "minimax" }

function modelsOf(data: CatalogData, provider: string): CatalogModels {
  const name = SAME_MODELS[provider] ?? provider
  const models = Object.hasOwn(data.providers, name) ? data.providers[name] : undefined
  return isRecord(models) ? models : {}
}

/** Vendors differ in case and in dots or hyphens of version numbers, so those are ignored; an exact match has priority. */
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
  for (let column = 7; column + 4 < row.length; column += 5) {
    tiers.push({ above: row[column] ?? 0, ...priceSet(row, column + 1) })
  }
  return tiers
}

function priceSet(row: readonly (number | null)[], column: number): PriceSet {
  return {
    input: parsePrice(row[column]),
    output: parsePrice(row[column + 1]),
    cacheRead: parsePrice(row[column + 2]),
    cacheWrite: parsePrice(row[column + 3]),
  }
}
