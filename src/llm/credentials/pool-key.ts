import { isRecord } from "../../base/json.ts"
import type { Config } from "../../config/load.ts"
import { findProvider } from "../providers.ts"

/** The name under which a provider's credentials are stored: its id, or `custom:<name>` for a person's own endpoint. */
export function poolKey(provider: string, config: Config): string {
  const name = provider.trim()
  if (name.startsWith("custom:")) return `custom:${normalise(name.slice("custom:".length))}`
  const known = findProvider(name)
  const own = Object.hasOwn(config.get("providers"), name) && isRecord(config.get("providers")[name])
  if (known !== undefined && (known.id === name.toLowerCase() || !own)) return known.id
  return own && hasAddress(config, name) ? `custom:${normalise(name)}` : name.toLowerCase()
}

/** `providers.<name>` of the settings for a provider or an own endpoint; empty when there is none. */
export function providerSettings(provider: string, config: Config): { readonly name: string; readonly fields: Fields } {
  const asked = provider.startsWith("custom:") ? provider.slice("custom:".length) : provider
  const all = config.get("providers")
  const wanted = [asked, findProvider(asked)?.id]
  const name =
    Object.keys(all).find((key) => wanted.includes(key)) ??
    Object.keys(all).find((key) => normalise(key) === normalise(asked))
  const fields = name === undefined ? undefined : all[name]
  return { name: name ?? asked, fields: isRecord(fields) ? fields : {} }
}

type Fields = Readonly<Record<string, unknown>>

function hasAddress(config: Config, name: string): boolean {
  const { fields } = providerSettings(name, config)
  return ["api", "url", "base_url"].some((key) => typeof fields[key] === "string" && fields[key] !== "")
}

function normalise(name: string): string {
  return name.trim().toLowerCase().replaceAll(/\s+/g, "-")
}
