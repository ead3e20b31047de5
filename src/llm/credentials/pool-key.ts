import { isRecord } from "../../base/json.ts"
import type { Config } from "../../config/load-config.ts"
import { findProvider } from "../providers.ts"

/** Returns the name under which a provider's credentials are stored: its id, or `custom:<name>` for an endpoint of the settings. */
export function poolKey(provider: string, config: Config): string {
  const name = provider.trim()
  if (name.startsWith("custom:")) return `custom:${normaliseName(name.slice("custom:".length))}`
  const known = findProvider(name)
  const configured = Object.hasOwn(config.get("providers"), name) && isRecord(config.get("providers")[name])
  if (known !== undefined && (known.id === name.toLowerCase() || !configured)) return known.id
  return configured && hasAddress(config, name) ? `custom:${normaliseName(name)}` : name.toLowerCase()
}

/** Returns `providers.<name>` of the settings for a provider or `custom:<name>`; empty fields when there is none. */
export function providerSettings(provider: string, config: Config): { readonly name: string; readonly fields: Fields } {
  const requested = provider.startsWith("custom:") ? provider.slice("custom:".length) : provider
  const all = config.get("providers")
  const names = [requested, findProvider(requested)?.id]
  const name =
    Object.keys(all).find((key) => names.includes(key)) ??
    Object.keys(all).find((key) => normaliseName(key) === normaliseName(requested))
  const fields = name === undefined ? undefined : all[name]
  return { name: name ?? requested, fields: isRecord(fields) ? fields : {} }
}

type Fields = Readonly<Record<string, unknown>>

function hasAddress(config: Config, name: string): boolean {
  const { fields } = providerSettings(name, config)
  return ["api", "url", "base_url"].some((key) => typeof fields[key] === "string" && fields[key] !== "")
}

function normaliseName(name: string): string {
  return name.trim().toLowerCase().replaceAll(/\s+/g, "-")
}
