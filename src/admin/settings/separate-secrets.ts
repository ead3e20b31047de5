import { isRecord } from "../../base/json.ts"
import { coerceValue } from "../../config/document/value-coercion.ts"
import type { Config } from "../../config/load-config.ts"
import { holdsHeaders, isSecretHeader, isSecretKey } from "../../config/secrets.ts"
import { findProvider } from "../../llm/providers.ts"
import { variableFor } from "../mcp/secret-values.ts"
import { serverKeyVariable } from "../models/store-provider-key.ts"

/** A value of a setting, as text for `hermes config set`, with references to variables in place of its secrets. */
export interface SeparatedSetting {
  readonly text: string
  /** The secrets, by the name of their variable in `.env`. */
  readonly secrets: Readonly<Record<string, string>>
}

/** Separates the secrets from a value that the user typed. A reference such as `${TOKEN}` is not a secret. */
export function separateSettingSecrets(path: string, text: string, config: Config): SeparatedSetting {
  const coerced = coerceValue(text)
  if (!coerced.ok) return { text, secrets: {} }
  const secrets: Record<string, string> = {}
  const replace = (value: unknown, segments: readonly string[], isHeader: boolean): unknown => {
    const key = segments.findLast((segment) => !isIndex(segment)) ?? ""
    if (Array.isArray(value)) return value.map((item, index) => replace(item, [...segments, String(index)], isHeader))
    if (isRecord(value)) {
      const inHeaders = holdsHeaders(key)
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, replace(inner, [...segments, name], inHeaders)]),
      )
    }
    const isSecret = isSecretKey(key) || (isHeader && isSecretHeader(key))
    if (!isSecret || (typeof value !== "string" && typeof value !== "number")) return value
    // The scheme stays readable: `Bearer ${VARIABLE}`.
    const [, scheme = "", secret = ""] = /^(Bearer\s+|Basic\s+)?(.*)$/isu.exec(String(value)) ?? []
    if (secret === "" || secret.includes("${")) return value
    const variable = variableOf(segments, config)
    secrets[variable] = secret
    return `${scheme}\${${variable}}`
  }
  const segments = path.split(".")
  const value = replace(coerced.value, segments, holdsHeaders(segments.at(-2) ?? ""))
  if (Object.keys(secrets).length === 0) return { text, secrets }
  return { text: typeof value === "string" ? value : JSON.stringify(value), secrets }
}

/** The variable of a secret: the one of its provider or MCP server, or else the path of the setting in capitals. */
function variableOf(segments: readonly string[], config: Config): string {
  const [section = "", name = "", kind = "", field = ""] = segments
  const path = segments.join(".")
  const ofProvider =
    path === "model.api_key"
      ? modelKeyVariable(config)
      : section === "providers" && kind === "api_key"
        ? providerKeyVariable(name, config)
        : undefined
  if (ofProvider !== undefined) return ofProvider
  if (section === "mcp_servers" && (kind === "env" || kind === "headers") && segments.length === 4)
    return variableFor(name, field)
  const names = segments.map((segment) => (isIndex(segment) ? String(Number(segment) + 1) : segment))
  return names
    .join("_")
    .replaceAll(/[^A-Za-z0-9]+/gu, "_")
    .toUpperCase()
}

/** The key for another address is not the key of the vendor, so it must not replace it. */
function modelKeyVariable(config: Config): string | undefined {
  const address = config.get("model.base_url")
  const named = config.get("model.provider")
  const isUnnamed = named === "" || named === "auto"
  const provider = findProvider(isUnnamed && address !== "" ? "custom" : named)
  if (provider === undefined) return isUnnamed ? undefined : providerKeyVariable(named, config)
  if (provider.baseUrl === "") return serverKeyVariable(provider)
  return address === "" ? provider.keyVariables[0] : undefined
}

function providerKeyVariable(name: string, config: Config): string | undefined {
  const settings = config.lookup(`providers.${name}`)
  const own = isRecord(settings) ? settings : {}
  const named = own["key_env"] ?? own["api_key_env"]
  if (typeof named === "string" && named !== "") return named
  const hasAddress = ["base_url", "api", "url"].some((key) => typeof own[key] === "string")
  const provider = findProvider(name)
  return hasAddress || provider?.id !== name ? undefined : provider.keyVariables[0]
}

function isIndex(segment: string): boolean {
  return /^\d+$/u.test(segment)
}
