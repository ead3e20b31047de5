import { existsSync } from "node:fs"
import { join } from "node:path"
import { isRecord } from "../base/json.ts"
import { readAuth } from "./auth-file.ts"
import type { Tree } from "./document/document-tree.ts"
import type { Home } from "./home.ts"

/** Providers with a login or keys in auth.json, the active one first. Most homes have no such file. */
export function storedProviders(home: Home): readonly string[] {
  if (!hasLogins(home)) return []
  const { activeProvider, providers, credentialPool } = readAuth(home).store
  const pooled = Object.entries(credentialPool).flatMap(([id, entries]) => (entries.some(isStoredHere) ? [id] : []))
  return [...new Set([...(activeProvider === null ? [] : [activeProvider]), ...Object.keys(providers), ...pooled])]
}

/** An entry for a key in a variable or the settings contains only its cooldown and its use, not the key. */
function isStoredHere({ source }: Tree): boolean {
  return typeof source !== "string" || !/^(?:env|config):|^model_config$/.test(source)
}

/** Why saved logins cannot be used: the file is damaged or cannot be read. */
export function loginProblems(home: Home): readonly string[] {
  return hasLogins(home) ? readAuth(home).warnings : []
}

/** Sources of keys that the user has disabled with `hermes auth remove`: `env:NAME`, `config:PATH`. */
export function suppressedSources(home: Home): ReadonlySet<string> {
  if (!hasLogins(home)) return new Set()
  const { suppressedSources: stored } = readAuth(home).store
  const sources = isRecord(stored) ? Object.values(stored).flat() : []
  return new Set(sources.filter((source) => typeof source === "string"))
}

/** Environment variables whose key the user has disabled with `hermes auth remove`. */
export function suppressedVariables(home: Home): ReadonlySet<string> {
  const sources = [...suppressedSources(home)].filter((source) => source.startsWith("env:"))
  return new Set(sources.map((source) => source.slice("env:".length)))
}

export function hasLogins(home: Home): boolean {
  return existsSync(home.file("auth.json")) || existsSync(join(home.root, "auth.json"))
}
