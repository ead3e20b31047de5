import { findProvider } from "../providers.ts"
import type { Catalog } from "./catalog.ts"
import { isPricedVendor, tablePrices } from "./price-table.ts"
import type { Prices } from "./prices.ts"

/** Whose model, and where it is asked. */
export interface PricedPlace {
  /** The runtime's provider id; empty when only the model's name is known. */
  readonly provider: string
  readonly model: string
  /** What the endpoint's own list says about this model, when it was asked. */
  readonly listed?: Prices | undefined
}

/**
 * The prices of a model, or undefined where nobody knows them: what its endpoint lists, then the fixed table or the generated
 * catalogue, whichever prices more kinds of tokens (the table when both do the same). A server of the person's own has no prices
 * but those it lists.
 */
export function findPrices(place: PricedPlace, catalog: Catalog): Prices | undefined {
  if (place.listed !== undefined) return place.listed
  const { provider, model } = place.provider === "" ? vendorOf(place.model) : place
  const table = fromTable(provider, model)
  const snapshot = catalog.find(provider, vendorsOwnName(provider, model))?.prices
  if (table === undefined || snapshot === undefined) return table ?? snapshot
  return kindsOf(snapshot) > kindsOf(table) ? snapshot : table
}

function kindsOf({ input, output, cacheRead, cacheWrite }: Prices): number {
  return [input, output, cacheRead, cacheWrite].filter((price) => price !== null).length
}

/** `anthropic/claude-…` without a provider names its seller itself. */
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

/** Without what an aggregator puts before it; Anthropic writes versions with hyphens. */
function vendorsOwnName(provider: string, model: string): string {
  const vendor = findProvider(provider)?.vendor
  const bare = vendor !== undefined && model.startsWith(`${vendor}/`) ? model.slice(vendor.length + 1) : model
  return provider === "anthropic" ? bare.replaceAll(/(?<=\d)\.(?=\d)/g, "-") : bare
}

/** A dated release costs what its model costs; Bedrock also puts the region before and a revision after the name. */
function undated(vendor: string, name: string): string {
  const bare =
    vendor === "bedrock" ? name.replace(/^(?:us|eu|au|jp|apac|global)\./, "").replace(/-v\d+(?::\d+)?$/, "") : name
  return bare.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2})$/, "")
}
