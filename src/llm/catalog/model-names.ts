import { isRecord, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { typedServerAddress } from "../../base/typed-server-address.ts"
import type { Provider } from "../provider.ts"
import { findProvider } from "../providers.ts"

/** The parsed argument of `/model`. */
export interface ModelArgument {
  readonly model: string | undefined
  readonly provider: string | undefined
  /** The address of a server, instead of a provider. */
  readonly address?: string
  /** Also store the choice for later sessions. */
  readonly global: boolean
  /** Fetch the model lists again first. */
  readonly refresh: boolean
}

/** Parses `[[address] name] [--provider P] [--global] [--refresh]`. Accepts one long dash for two hyphens, as phones write it. */
export function parseModelArgument(
  text: string,
  isProvider: (name: string) => boolean = isKnownProvider,
): Result<ModelArgument> {
  const names: string[] = []
  let provider: string | undefined
  let [global, refresh] = [false, false]
  const words = text.split(/\s+/).filter((word) => word !== "")
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? ""
    const flag = flagOf(word)
    if (flag === "global") global = true
    else if (flag === "refresh") refresh = true
    else if (flag === "provider") {
      index += 1
      provider = words[index]
      if (provider === undefined) return fail("name a provider after --provider")
    } else if (word.startsWith("--"))
      return fail(`/model has no option ${word}; it accepts --provider, --global and --refresh`)
    else names.push(word)
  }
  const address = typedServerAddress(names[0] ?? provider ?? "")
  if (address !== undefined)
    return atAddress(
      { address, names: names.filter((word) => typedServerAddress(word) === undefined) },
      { global, refresh },
    )
  const [name, extra] = names
  if (extra !== undefined) return fail(`name one model, not "${names.join(" ")}"`)
  if (name === undefined || provider !== undefined) return ok({ model: name, provider, global, refresh })
  return ok({ ...splitProviderPrefix(name, isProvider), global, refresh })
}

/** `http://box:8000/v1 qwen3`, or the address after `--provider`. */
function atAddress(
  { address, names }: { readonly address: string; readonly names: readonly string[] },
  flags: Pick<ModelArgument, "global" | "refresh">,
): Result<ModelArgument> {
  const [model, extra] = names
  if (extra !== undefined) return fail(`name one model after the address, not "${names.join(" ")}"`)
  return ok({ model, provider: undefined, address, ...flags })
}

/**
 * `zai:glm-5` names a provider; in `qwen3:14b` and `vendor/model:free` the colon belongs to the model. `custom:box:qwen3:14b` is
 * the model `qwen3:14b` at the configured provider `box`.
 */
export function splitProviderPrefix(
  name: string,
  isProvider: (name: string) => boolean = isKnownProvider,
): { readonly model: string | undefined; readonly provider: string | undefined } {
  const own = /^(custom:[^:/]+)(?::(.+))?$/i.exec(name)
  if (own?.[1] !== undefined && isProvider(own[1])) return { provider: own[1], model: own[2] }
  const colon = name.indexOf(":")
  const [left, right] = [name.slice(0, colon), name.slice(colon + 1)]
  if (colon <= 0 || right === "" || name.includes("/") || !isProvider(left)) return { model: name, provider: undefined }
  return { provider: left, model: right }
}

/** Returns the name as this provider spells it, without the vendor prefix of aggregators. */
export function modelNameFor(provider: Provider, name: string): string {
  const typed = name.trim()
  if (provider.aggregator === true) return nameAtAggregator(typed)
  const bare = withoutPrefix(typed, provider.vendor)
  switch (provider.id) {
    case "gemini":
      return withoutPrefix(bare, "models")
    case "deepseek":
      return deepSeekName(bare)
    case "xiaomi":
      return bare.toLowerCase()
    case "anthropic":
    case "opencode-zen":
    case "opencode-go":
      return bare.startsWith("claude-") ? hyphenated(bare) : bare
    default:
      return bare
  }
}

/** An alias of the settings (`model_aliases`, then `model.aliases`). */
export interface UserAlias {
  readonly model: string
  readonly provider?: string
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly keyVariable?: string
}

interface AliasSettings {
  readonly modelAliases: unknown
  readonly shortAliases: unknown
}

/** Returns the alias with this name. */
export function findUserAlias(name: string, settings: AliasSettings): UserAlias | undefined {
  const wanted = name.trim().toLowerCase()
  return allAliases(settings).find(([alias]) => alias.toLowerCase() === wanted)?.[1]
}

/** Returns the alias for the model with this full name, because its provider is the one that the user configured for it. */
export function findAliasedModel(model: string, settings: AliasSettings): UserAlias | undefined {
  const wanted = model.trim().toLowerCase()
  return allAliases(settings).find(([, alias]) => alias.model.toLowerCase() === wanted)?.[1]
}

/** True for two spellings of one model: with or without vendor prefix, dots or hyphens in versions, in any case. */
export function isSameName(a: string, b: string): boolean {
  const plain = (name: string): string =>
    hyphenated(
      name
        .trim()
        .toLowerCase()
        .replace(/^.*[/]/, ""),
    )
  return plain(a) === plain(b)
}

/** Returns the newest of a provider's models that a built-in alias (`sonnet`, `gpt`, …) matches; undefined when none does. */
export function resolveAlias(
  alias: string,
  options: { readonly provider: Provider; readonly models: readonly string[] },
): string | undefined {
  const name = alias.trim().toLowerCase()
  const target = Object.hasOwn(BUILT_IN_ALIASES, name) ? BUILT_IN_ALIASES[name] : undefined
  if (target === undefined) return undefined
  const { vendor, family, containing = "" } = target
  const candidates = options.models.filter((model) => model.toLowerCase().includes(containing))
  const prefix = options.provider.aggregator === true ? `${vendor}/${family}` : family
  return newestModel(candidates, prefix)
}

/** Returns the built-in aliases that may be typed instead of a model name. */
export function builtInAliases(): readonly string[] {
  return Object.keys(BUILT_IN_ALIASES)
}

/** True for a vendor prefix that aggregators use, such as `meta-llama` or `moonshotai`. */
export function isModelVendor(name: string): boolean {
  return VENDORS.has(name.trim().toLowerCase())
}

/**
 * Returns the newest model of a family: the highest version, then the strongest variant, then the latest date, then the name. A
 * name without a date refers to the newest release, so it counts as later than any date.
 */
export function newestModel(models: readonly string[], prefix: string): string | undefined {
  const wanted = prefix.toLowerCase()
  return models
    .filter((model) => belongsTo(model.toLowerCase(), wanted))
    .map((model) => ({ model, ...parseRelease(model.toLowerCase().slice(wanted.length)) }))
    .toSorted(
      (a, b) =>
        compareVersions(b.version, a.version) ||
        a.rank - b.rank ||
        (a.date === b.date ? 0 : b.date - a.date) ||
        (a.model < b.model ? -1 : 1),
    )[0]?.model
}

/** Returns a warning for models that chat well but are bad at tool use. */
export function toolUseWarning(model: string): string | undefined {
  return /(?:^|[/_-])hermes-?[34](?:[.-]|$)/i.test(model)
    ? `${model} is made for conversation, not for tool use; it may call tools incorrectly.`
    : undefined
}

function isKnownProvider(name: string): boolean {
  return findProvider(name) !== undefined
}

/** Matches `--word`, or the same after one Unicode dash. */
function flagOf(word: string): string | undefined {
  return /^(?:--|[\u2010-\u2015\u2212\u2E3A\u2E3B\uFE58\uFE63\uFF0D])(provider|global|refresh)$/iu
    .exec(word)?.[1]
    ?.toLowerCase()
}

function withoutPrefix(name: string, prefix: string | undefined): string {
  return prefix !== undefined && name.toLowerCase().startsWith(`${prefix}/`) ? name.slice(prefix.length + 1) : name
}

function hyphenated(name: string): string {
  return name.replaceAll(/(?<=\d)\.(?=\d)/g, "-")
}

/** DeepSeek's older names map to its two general models; numbered names are newer and used as they are. */
function deepSeekName(name: string): string {
  if (/^deepseek-(?:v\d|flash|pro)/i.test(name)) return name
  return /reason|think|-r\d/i.test(name) ? "deepseek-reasoner" : "deepseek-chat"
}

/** Aggregators expect `vendor/model`: adds the vendor of a known family, and converts `vendor:model`. */
function nameAtAggregator(name: string): string {
  if (name.includes("/")) return name
  const colon = name.indexOf(":")
  if (VENDORS.has(name.slice(0, Math.max(0, colon)).toLowerCase()))
    return `${name.slice(0, colon)}/${name.slice(colon + 1)}`
  const vendor = Object.values(BUILT_IN_ALIASES).find(({ family }) => belongsTo(name.toLowerCase(), family))?.vendor
  return vendor === undefined ? name : `${vendor}/${name}`
}

interface AliasTarget {
  readonly vendor: string
  readonly family: string
  /** Only names that contain this word. */
  readonly containing?: string
}

const BUILT_IN_ALIASES: Readonly<Record<string, AliasTarget>> = {
  sonnet: { vendor: "anthropic", family: "claude-sonnet" },
  opus: { vendor: "anthropic", family: "claude-opus" },
  haiku: { vendor: "anthropic", family: "claude-haiku" },
  claude: { vendor: "anthropic", family: "claude" },
  gpt5: { vendor: "openai", family: "gpt-5" },
  gpt: { vendor: "openai", family: "gpt" },
  codex: { vendor: "openai", family: "gpt", containing: "codex" },
  o3: { vendor: "openai", family: "o3" },
  o4: { vendor: "openai", family: "o4" },
  gemini: { vendor: "google", family: "gemini" },
  deepseek: { vendor: "deepseek", family: "deepseek" },
  grok: { vendor: "x-ai", family: "grok" },
  llama: { vendor: "meta-llama", family: "llama" },
  qwen: { vendor: "qwen", family: "qwen" },
  minimax: { vendor: "minimax", family: "minimax" },
  nemotron: { vendor: "nvidia", family: "nemotron" },
  kimi: { vendor: "moonshotai", family: "kimi" },
  glm: { vendor: "z-ai", family: "glm" },
  step: { vendor: "stepfun", family: "step" },
  mimo: { vendor: "xiaomi", family: "mimo" },
  trinity: { vendor: "arcee-ai", family: "trinity" },
}

const VENDORS: ReadonlySet<string> = new Set(Object.values(BUILT_IN_ALIASES).map(({ vendor }) => vendor))

/** `gpt` matches `gpt-5` and `gpt5`, but not `gptx`. */
function belongsTo(model: string, prefix: string): boolean {
  return model.startsWith(prefix) && !/^[a-z]/.test(model.slice(prefix.length))
}

interface Release {
  readonly version: readonly number[]
  readonly rank: number
  /** Infinity when there is none. */
  readonly date: number
}

const VARIANTS: readonly string[] = ["pro", "max", "plus", "turbo"]

/**
 * Parses the part of a name after its family. The version is the first run of numbers: in `-opus-4-8-fast` it is 4.8, in
 * `-4-20250514` it is 4 followed by a date, in `-oss-120b` there is none.
 */
function parseRelease(suffix: string): Release {
  const parts = suffix
    .replace(/^\./, "")
    .replaceAll(/(\d{4})-(\d{2})-(\d{2})/g, "$1$2$3")
    .split(/[-:_/]/)
    .filter((part) => part !== "")
  const version: number[] = []
  const words: string[] = []
  let date = Number.POSITIVE_INFINITY
  let complete = false
  for (const part of parts) {
    const numbers = /^[a-z]?(\d+(?:\.\d+)*)$/.exec(part)?.[1]
    if (numbers === undefined) {
      words.push(part)
      complete ||= version.length > 0
    } else if (/^\d{4,}$/.test(numbers)) {
      // Four or more digits are a date (0905, 20250514); only long ones contain a year and can be compared.
      if (numbers.length >= 6) date = Number(numbers)
    } else if (!complete) {
      version.push(...numbers.split(".").map(Number))
    }
  }
  const rank = VARIANTS.findIndex((variant) => words.includes(variant))
  return { version, rank: rank === -1 ? VARIANTS.length : rank, date }
}

function compareVersions(a: readonly number[], b: readonly number[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function allAliases({ modelAliases, shortAliases }: AliasSettings): readonly (readonly [string, UserAlias])[] {
  return [...aliasEntries(modelAliases), ...aliasEntries(shortAliases)]
}

/** `name: provider/model`, `name: model`, or a mapping with model, provider, base_url, and a key for that address. */
function aliasEntries(value: unknown): readonly (readonly [string, UserAlias])[] {
  if (!isRecord(value)) return []
  return Object.entries(value).flatMap(([alias, target]): (readonly [string, UserAlias])[] => {
    if (typeof target === "string") return target.trim() === "" ? [] : [[alias, aliasFromText(target.trim())]]
    if (!isRecord(target) || typeof target["model"] !== "string") return []
    const field = (name: string): string => (stringField(target, name) ?? "").trim()
    const [provider, baseUrl, apiKey] = [field("provider"), field("base_url"), field("api_key")]
    const keyVariable = field("key_env") || field("api_key_env")
    // An address without a provider is a custom server.
    const named = provider === "" && baseUrl !== "" ? "custom" : provider
    return [
      [
        alias,
        {
          model: target["model"],
          ...(named === "" ? {} : { provider: named }),
          ...(baseUrl === "" ? {} : { baseUrl }),
          ...(apiKey === "" ? {} : { apiKey }),
          ...(keyVariable === "" ? {} : { keyVariable }),
        },
      ],
    ]
  })
}

/** The part before the first slash is a provider only if it is in the provider table; `meta-llama/llama-4` is a model. */
function aliasFromText(target: string): UserAlias {
  const slash = target.indexOf("/")
  const provider = slash > 0 ? findProvider(target.slice(0, slash)) : undefined
  return provider === undefined ? { model: target } : { provider: provider.id, model: target.slice(slash + 1) }
}
