import { findProvider } from "../providers.ts"
import type { Catalog } from "./catalog.ts"
import { isPricedVendor, tablePrices } from "./price-table.ts"
import type { Prices } from "./prices.ts"

/** The model whose prices are wanted. */
export interface PricedModel {
  /** The runtime's provider id; empty when only the model's name is known. */
  readonly provider: string
  readonly model: string
  /** The prices in the endpoint's own model list, when it was fetched. */
  readonly listed?: Prices | undefined
}

/**
 * Returns the prices of a model, or undefined when they are unknown. Listed prices have priority; then the fixed table or the
 * generated catalogue, whichever prices more kinds of tokens (the table when equal). A custom server has only listed prices.
 */
export function findPrices(priced: PricedModel, catalog: Catalog): Prices | undefined {
  if (priced.listed !== undefined) return priced.listed
  const { provider, model } = priced.provider === "" ? vendorOf(priced.model) : priced
  const table = fromTable(provider, model)
  const snapshot = catalog.find(provider, vendorsOwnName(provider, model))?.prices
  if (table === undefined || snapshot === undefined) return table ?? snapshot
  return kindsOf(snapshot) > kindsOf(table) ? snapshot : table
}

function kindsOf({ input, output, cacheRead, cacheWrite }: Prices): number {
  return [input, output, cacheRead, cacheWrite].filter((price) => price !== null).length
}

/** Without a provider, the vendor prefix of the name (`anthropic/claude-…`) is used. */
function vendorOf(model: string): { readonly provider: string; readonly model: string } {
  const [vendor, ...rest] = model.split("/")
  const known = ["anthropic", "openai", "google"].includes(vendor ?? "") && rest.length > 0
  return known ? { provider: findProvider(vendor ?? "")?.id ?? "", model: rest.join("/") } : { provider: "", model }
}

function fromTable(provider: string, model: string): Prices | undefined {
  const vendor = provider === "bedrock" ? provider : (findProvider(provider)?.vendor ?? "")
  if (!isPricedVendor(vendor)) return undefined
  const name = vendorsOwnName(provider, model).toLowerCase()
  return tablePrices(vendor, name) ?? tablePrices(vendor, undated(vendor, name))
}

/** Removes the aggregator's vendor prefix; Anthropic writes versions with hyphens. */
function vendorsOwnName(provider: string, model: string): string {
  const vendor = findProvider(provider)?.vendor
  const bare = vendor !== undefined && model.startsWith(`${vendor}/`) ? model.slice(vendor.length + 1) : model
  return provider === "anthropic" ? bare.replaceAll(/(?<=\d)\.(?=\d)/g, "-") : bare
}

/** Removes the release date. Bedrock names also have a region prefix and a revision suffix. */
function undated(vendor: string, name: string): string {
  const bare =
    vendor === "bedrock" ? name.replace(/^(?:us|eu|au|jp|apac|global)\./, "").replace(/-v\d+(?::\d+)?$/, "") : name
  return bare.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, "")
}
