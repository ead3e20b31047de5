import { isRecord } from "../../base/json.ts"
import { hasPath, valueAt, withoutPath, withValueAt, type Tree } from "../document/document-tree.ts"
import { CONFIG_VERSION } from "../settings.ts"

/** Converts settings in the layout of earlier releases to the current one. Does not change the file. */
export function normalizeLegacySettings(user: Tree): Tree {
  return [
    convertModel,
    convertTurns,
    convertBrowser,
    convertProviders,
    convertSpelling,
    convertFallback,
    convertPersonalities,
    keepStrategy,
  ].reduce((tree: Tree, convert) => convert(tree), user)
}

/** `model: x` and `model: {model: x}` mean `model.default: x`; `provider`, `base_url`, `context_length` stood at the top. */
function convertModel(user: Tree): Tree {
  const written = user["model"]
  let model: Tree = isRecord(written)
    ? written
    : typeof written === "string" && written !== ""
      ? { default: written }
      : {}
  if (isEmpty(model["default"]) && !isEmpty(model["model"])) model = { ...model, default: model["model"] }
  let tree = withoutPath(user, "model")
  for (const key of ["provider", "base_url", "context_length"]) {
    if (!isEmpty(user[key]) && isEmpty(model[key])) model = { ...model, [key]: user[key] }
    tree = withoutPath(tree, key)
  }
  model = withoutPath(model, "model")
  if (Object.keys(model).length > 0) return { ...tree, model }
  return written === undefined || typeof written === "string" ? tree : { ...tree, model: written }
}

function convertTurns(user: Tree): Tree {
  if (!hasPath(user, "max_turns")) return user
  const tree = withoutPath(user, "max_turns")
  return hasPath(user, "agent.max_turns") ? tree : withValueAt(tree, "agent.max_turns", user["max_turns"])
}

function convertBrowser(user: Tree): Tree {
  const engine = valueAt(user, "browser.engine")
  if (engine === undefined) return user
  const tree = withoutPath(user, "browser.engine")
  return hasPath(user, "browser.backend") ? tree : withValueAt(tree, "browser.backend", engine)
}

/** Converts the list form to entries of `providers`; an existing entry wins. */
function convertProviders(user: Tree): Tree {
  const legacy = user["custom_providers"]
  if (!Array.isArray(legacy)) return user
  const written = isRecord(user["providers"]) ? user["providers"] : {}
  const converted = providersFromList(legacy, Object.keys(written))
  return { ...withoutPath(user, "custom_providers"), providers: { ...Object.fromEntries(converted), ...written } }
}

/** Renames `baseUrl` to `base_url`; where both are set, `base_url` wins. */
function convertSpelling(user: Tree): Tree {
  const { providers } = user
  if (!isRecord(providers)) return user
  const entries = Object.entries(providers).map(([name, entry]): [string, unknown] => [
    name,
    isRecord(entry) ? withSnakeCase(entry) : entry,
  ])
  return { ...user, providers: Object.fromEntries(entries) }
}

function withSnakeCase(entry: Tree): Tree {
  const fields = Object.entries(entry)
  const older = fields.filter(([field]) => snakeCase(field) !== field)
  if (older.length === 0) return entry
  const today = fields.filter(([field]) => snakeCase(field) === field)
  return Object.fromEntries([...older.map(([field, value]) => [snakeCase(field), value] as const), ...today])
}

export function snakeCase(field: string): string {
  return field.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function convertFallback(user: Tree): Tree {
  const legacy = user["fallback_model"]
  const more = Array.isArray(legacy) ? legacy : isRecord(legacy) && Object.keys(legacy).length > 0 ? [legacy] : []
  if (more.length === 0) return user
  const written = Array.isArray(user["fallback_providers"]) ? user["fallback_providers"] : []
  return { ...withoutPath(user, "fallback_model"), fallback_providers: [...written, ...more] }
}

function convertPersonalities(user: Tree): Tree {
  const nested = valueAt(user, "agent.personalities")
  if (!isRecord(nested)) return user
  const written = isRecord(user["personalities"]) ? user["personalities"] : {}
  return { ...user, personalities: { ...nested, ...written } }
}

/** A file of an earlier release keeps its compression strategy until it is migrated. */
function keepStrategy(user: Tree): Tree {
  const version = user["_config_version"]
  const older = typeof version === "number" && version < CONFIG_VERSION
  if (!older || hasPath(user, "compression.strategy")) return user
  return withValueAt(user, "compression.strategy", "summarize")
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ""
}

/** Converts entries of the list form to the keys and field names of the mapping form; entries without a URL are dropped. */
export function providersFromList(entries: readonly unknown[], taken: readonly string[]): [string, Tree][] {
  const used = new Set(taken)
  return entries.filter(isRecord).flatMap((entry): [string, Tree][] => {
    const address = entry["base_url"] ?? entry["url"] ?? entry["api"]
    if (typeof address !== "string" || address === "") return []
    const key = freeKey(slug(entry["name"]) || hostKey(address), used)
    used.add(key)
    return [[key, renameFields(entry)]]
  })
}

function slug(name: unknown): string {
  if (typeof name !== "string") return ""
  return name
    .trim()
    .toLowerCase()
    .replaceAll(/[()]/g, "")
    .replaceAll(/\s+/g, "-")
    .replaceAll(/-+/g, "-")
    .replaceAll(/^-|-$/g, "")
}

function hostKey(address: string): string {
  return URL.parse(address)?.hostname.replaceAll(".", "-") ?? "custom"
}

function freeKey(preferred: string, used: ReadonlySet<string>): string {
  const base = preferred === "" ? "custom" : preferred
  let key = base
  for (let number = 2; used.has(key); number += 1) key = `${base}-${number}`
  return key
}

const RENAMED: Readonly<Record<string, string>> = {
  base_url: "api",
  url: "api",
  model: "default_model",
  api_mode: "transport",
}
const PLACEHOLDERS: readonly string[] = [
  "",
  "none",
  "null",
  "no-key",
  "no-key-required",
  "not-needed",
  "changeme",
  "your-key",
  "your-api-key",
  "***",
]

function renameFields(entry: Tree): Tree {
  const fields = Object.entries(entry)
    .filter(([name, value]) => value !== "" && value !== null && !(name === "api_key" && isPlaceholder(value)))
    .map(([name, value]): [string, unknown] => [RENAMED[name] ?? name, value])
  return Object.fromEntries(fields)
}

function isPlaceholder(value: unknown): boolean {
  return typeof value === "string" && PLACEHOLDERS.includes(value.trim().toLowerCase())
}
