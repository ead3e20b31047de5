import { isRecord } from "../../base/json.ts"
import { nearest } from "../../base/nearest-name.ts"
import { ok, type Result } from "../../base/result.ts"
import { ensureHome } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { modelNameFor } from "../../llm/catalog/model-names.ts"
import { findProvider, PROVIDERS } from "../../llm/providers.ts"
import { failed, invalid, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadHome } from "../loaded-home.ts"
import { parseServerAddress } from "../models/server-address.ts"
import { fallbackEntries, fallbackText, writeFallbacks, type FallbackEntry } from "./fallback-entries.ts"

export interface NewFallback {
  readonly provider: string
  readonly model: string
  readonly baseUrl?: string | undefined
  /** The variable that contains the key. */
  readonly keyVariable?: string | undefined
  readonly apiMode?: string | undefined
}

/** Adds a fallback at the end of the list. Returns it with its number (from 1). */
export async function addFallback(
  context: HomeContext,
  fallback: NewFallback,
): Promise<Result<{ readonly number: number; readonly entry: FallbackEntry }, AdminFailure>> {
  const home = await loadHome(context)
  const provider = resolveProvider(fallback.provider, home.config)
  if (!provider.ok) return provider
  const address = fallback.baseUrl ?? ""
  const baseUrl = address === "" ? "" : parseServerAddress(address)
  if (baseUrl === undefined) return invalid(`"${address}" is not an http(s) address.`)
  const entry = newEntry({ ...fallback, provider: provider.value, baseUrl })
  const entries = fallbackEntries(home.config)
  if (entries.some((other) => isSameFallback(other, entry))) {
    return failed(`This fallback exists already: ${fallbackText(entry)}`)
  }
  ensureHome(context.home, context.environment)
  const written = await writeFallbacks(home, [...entries, entry])
  return written.ok ? ok({ number: entries.length + 1, entry }) : written
}

function newEntry(fallback: NewFallback & { readonly baseUrl: string }): FallbackEntry {
  const { provider, baseUrl } = fallback
  const known = findProvider(provider)
  const model = known === undefined ? fallback.model : modelNameFor(known, fallback.model)
  return {
    provider,
    model,
    baseUrl,
    written: {
      provider,
      model,
      ...optionalField("base_url", baseUrl),
      ...optionalField("key_env", fallback.keyVariable),
      ...optionalField("api_mode", fallback.apiMode),
    },
  }
}

/** Returns the id of a provider of the table, or the name of one that the settings define. */
function resolveProvider(named: string, config: Config): Result<string, AdminFailure> {
  const own = config.get("providers")
  const bare = named.startsWith("custom:") ? named.slice("custom:".length) : named
  if (Object.hasOwn(own, bare) && isRecord(own[bare])) return ok(named)
  if (named.toLowerCase() === "demo") return invalid("The demo model cannot be a fallback for a real one.")
  const known = findProvider(named)
  if (known !== undefined) return ok(known.id)
  const names = [...PROVIDERS.map(({ id }) => id), ...Object.keys(own)]
  const close = nearest(named, names)
  const hint = close === undefined ? `. Known: ${names.join(", ")}` : `; did you mean ${close}?`
  return invalid(`There is no provider "${named}"${hint}`)
}

function isSameFallback(a: FallbackEntry, b: FallbackEntry): boolean {
  return a.provider === b.provider && a.model === b.model && a.baseUrl === b.baseUrl
}

function optionalField(key: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined || value === "" ? {} : { [key]: value }
}
