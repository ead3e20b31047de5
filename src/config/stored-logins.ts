import { existsSync } from "node:fs"
import { join } from "node:path"
import { isRecord } from "../base/json.ts"
import { readAuth } from "./auth-file.ts"
import type { Home } from "./home.ts"

/** Providers with a login or keys in auth.json, the active one first. Most homes have no such file. */
export function storedProviders(home: Home): readonly string[] {
  if (!hasLogins(home)) return []
  const { activeProvider, providers, credentialPool } = readAuth(home).store
  const pooled = Object.entries(credentialPool).flatMap(([id, entries]) => (entries.length > 0 ? [id] : []))
  return [...new Set([...(activeProvider === null ? [] : [activeProvider]), ...Object.keys(providers), ...pooled])]
}

/** Environment variables whose key the user has disabled with `hermes auth remove`. */
export function suppressedVariables(home: Home): ReadonlySet<string> {
  if (!hasLogins(home)) return new Set()
  const { suppressedSources } = readAuth(home).store
  const sources = isRecord(suppressedSources) ? Object.values(suppressedSources).flat() : []
  return new Set(
    sources.flatMap((source) => (typeof source === "string" && source.startsWith("env:") ? [source.slice(4)] : [])),
  )
}

export function hasLogins(home: Home): boolean {
  return existsSync(home.file("auth.json")) || existsSync(join(home.root, "auth.json"))
}
