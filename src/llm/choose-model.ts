import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import { isUsableKey } from "./credentials/usable-key.ts"
import { resolveContextWindow } from "./catalog/context-window.ts"
import { cachedWindow, readWindowCache } from "./catalog/window-cache.ts"
import { DEMO_RUNTIME } from "./demo/runtime.ts"
import { detectWire } from "./detect-wire.ts"
import { isLocalAddress } from "./local/local-address.ts"
import { findUserAlias, modelNameFor } from "./catalog/model-names.ts"
import type { ModelRuntime } from "./model.ts"
import { CUSTOM_PROVIDER, PROVIDERS, findProvider } from "./providers.ts"
import type { Provider } from "./providers.ts"

/** A runtime with the secret that opens it. The key never leaves `llm`. */
export interface ChosenModel {
  readonly runtime: ModelRuntime
  /** A key of its own; absent where a stored login or none is used. */
  readonly key: string | undefined
  /** Keys and logins that are managed for this provider may be used: the address is its own and nobody named another key. */
  readonly managed: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly extraBody: Readonly<Record<string, unknown>>
  readonly maxTokensDefault?: number
  /** Nobody named another address than the provider's own, so a login may name the one it was issued for. */
  readonly ownAddress: boolean
  /** The context length comes from the model's name alone; whoever needs it exactly asks (`ModelClient.confirmWindow`). */
  readonly windowIsGuess: boolean
  /** What the settings of the provider say about the length of its requests. */
  readonly timeouts: { readonly requestSeconds?: number; readonly staleSeconds?: number }
  /** The file of `providers.<name>.ca_bundle`: whose certificates are believed at this provider. */
  readonly authorities?: { readonly path: string; readonly setting: string }
  /** The wire was only assumed from the model's name; a server that does not know it is spoken to in the older one. */
  readonly wireAssumed: boolean
  /** False once the place has refused to stream. */
  readonly streaming?: boolean
  /** False once the place has refused the longer context to this login. */
  readonly longContext?: boolean
  /** False once the place has refused to report usage while it streams. */
  readonly includeUsage?: boolean
  /** What the settings say about its eyes; absent leaves it to the catalogue. */
  readonly seesImages?: boolean
  /** Nothing was configured, so the demo model answers; surfaces say it. */
  readonly demoByDefault: boolean
}

export interface ModelChoiceFailure {
  readonly code: "no_provider_configured" | "unknown_provider" | "missing_key" | "missing_model" | "bad_address"
  readonly message: string
}

export interface ModelWish {
  readonly provider?: string
  readonly model?: string
  /** An address with a key of its own, as entries of `fallback_providers` may name. */
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly keyVariable?: string
  readonly apiMode?: string
  /** What the server itself says the window is. */
  readonly listedWindow?: number
}

export interface ChoiceSources {
  readonly config: Config
  readonly environment: Environment
  /** Providers with a login or keys in auth.json, the active one first. */
  readonly stored: readonly string[]
  /** Where it is kept what servers said about their windows; without it nothing is remembered. */
  readonly home?: Home
}

/**
 * Which model, where and with which key: the flags first, then the settings, then a stored login, then the first provider with a
 * usable key, then the demo model. A key is only ever combined with the address of its own provider.
 */
export function chooseModel(given: ModelWish, sources: ChoiceSources): Result<ChosenModel, ModelChoiceFailure> {
  const { config, environment } = sources
  const wish = withoutAlias(given, config)
  const asked = wish.provider ?? config.get("model.provider")
  if (asked === "demo") return ok(demo(false))
  if (asked !== "" && asked !== "auto") {
    const own = ownProvider(asked, config)
    const known = own ?? findProvider(asked)
    return known === undefined ? fail(unknownProvider(asked, config)) : complete(known, wish, sources)
  }
  if (config.get("model.base_url") !== "") return complete(CUSTOM_PROVIDER, wish, sources)
  const found = automatic(sources)
  if (found !== undefined) return complete(found, wish, sources)
  if ((environment.get("OPENAI_BASE_URL") ?? "") !== "") return complete(CUSTOM_PROVIDER, wish, sources)
  return ok(demo(true))
}

/** A short name the person gave a model also says where that model is. */
function withoutAlias(wish: ModelWish, config: Config): ModelWish {
  if (wish.model === undefined) return wish
  const aliases = { modelAliases: config.get("model_aliases"), shortAliases: config.get("model.aliases") }
  const meant = findUserAlias(wish.model, aliases)
  return meant === undefined ? wish : { ...meant, ...wish, model: meant.model }
}

function automatic({ environment, stored }: ChoiceSources): Provider | undefined {
  const login = stored.map((id) => findProvider(id)).find((provider) => provider !== undefined)
  if (login !== undefined) return login
  const keyed = PROVIDERS.find(
    (provider) =>
      provider.keyOptional !== true && provider.neverAutomatic !== true && keyOf(provider, environment) !== undefined,
  )
  if (keyed !== undefined) return keyed
  const cloud = PROVIDERS.find(({ authType }) => authType === "aws_sdk")
  return (environment.get("AWS_ACCESS_KEY_ID") ?? "") === "" ? undefined : cloud
}

function complete(
  provider: OwnProvider,
  wish: ModelWish,
  sources: ChoiceSources,
): Result<ChosenModel, ModelChoiceFailure> {
  const { config, home } = sources
  if (provider.authType === "external_process") return fail(noServer(provider))
  const endpoint = endpointOf(provider, wish, sources)
  const url = parseAddress(endpoint.address)
  if (url === undefined) return fail(badAddress(provider, endpoint.address))
  const local = isLocalAddress(endpoint.address)
  const credential = credentialFor(provider, wish, { ...sources, ...endpoint, url })
  const keyless = provider.keyOptional === true || provider.authType === "aws_sdk" || local
  if (credential === undefined && !keyless && !sources.stored.includes(provider.id)) return fail(missingKey(provider))
  const named = wish.model ?? (config.get("model.default") || provider.defaultModel)
  if (named === "") {
    return fail({
      code: "missing_model",
      message: `no model is chosen for ${provider.name} at ${endpoint.address}; name one with --model or \`hermes config set model.default NAME\``,
    })
  }
  const model = modelNameFor(provider, named)
  const apiMode =
    wish.apiMode ??
    provider.apiMode ??
    (endpoint.namedBy !== "wish" && belongsToSettings(provider, config) ? config.get("model.api_mode") : "")
  const detected = detectWire({
    ...(apiMode === "" ? {} : { apiMode }),
    provider: provider.id,
    baseUrl: endpoint.address,
    model,
  })
  const isMain = wish.baseUrl === undefined && provider.id === mainProvider(sources)
  const baseUrl = endpoint.address.replace(/\/+$/, "")
  const ownModel = provider.models?.[model] ?? provider.models?.[named]
  const window = resolveContextWindow({
    provider: provider.id,
    model,
    baseUrl: endpoint.address,
    configured: isMain ? (config.get("model.context_length") ?? undefined) : undefined,
    ownProvider: numberField(ownModel, "context_length") ?? provider.contextLength,
    cached: home === undefined ? undefined : cachedWindow(readWindowCache(home), { model, baseUrl }),
    listed: wish.listedWindow,
  })
  return ok({
    runtime: {
      provider: provider.id,
      model,
      wire: detected.wire,
      baseUrl,
      contextLength: window.tokens,
      credentialSource: credential?.source ?? (sources.stored.includes(provider.id) ? "auth.json" : "none needed"),
      billingMode: local ? "local" : "metered",
    },
    key: credential?.key,
    managed: isManaged(provider, wish, { ...endpoint, url }),
    headers: { ...provider.headers, ...(isMain ? stringEntries(config.get("model.default_headers")) : {}) },
    extraBody: provider.extraBody ?? {},
    ...(provider.defaultMaxTokens === undefined ? {} : { maxTokensDefault: provider.defaultMaxTokens }),
    ownAddress: endpoint.namedBy === "provider",
    windowIsGuess: window.source === "family" || window.source === "default",
    timeouts: timeoutsOf(provider, ownModel),
    ...(provider.authorities === undefined ? {} : { authorities: provider.authorities }),
    wireAssumed: detected.upgraded,
    ...(isMain ? eyesOf(config) : {}),
    demoByDefault: false,
  })
}

function eyesOf(config: Config): Pick<ChosenModel, "seesImages"> {
  const told = config.get("model.supports_vision")
  return told === null ? {} : { seesImages: told }
}

function timeoutsOf({ requestSeconds, staleSeconds }: OwnProvider, ownModel: unknown): ChosenModel["timeouts"] {
  const request = numberField(ownModel, "timeout_seconds") ?? requestSeconds
  return {
    ...(request === undefined ? {} : { requestSeconds: request }),
    ...(staleSeconds === undefined ? {} : { staleSeconds }),
  }
}

/** The provider that `model.*` of the settings is about; what is said there holds for no other. */
function mainProvider(sources: ChoiceSources): string | undefined {
  const named = sources.config.get("model.provider")
  if (named !== "" && named !== "auto") return ownProvider(named, sources.config)?.id ?? findProvider(named)?.id
  if (sources.config.get("model.base_url") !== "") return CUSTOM_PROVIDER.id
  return automatic(sources)?.id ?? CUSTOM_PROVIDER.id
}

/** A key from elsewhere never goes to an address that somebody else named. */
function isManaged(
  provider: OwnProvider,
  wish: ModelWish,
  { namedBy, url }: Endpoint & { readonly url: URL },
): boolean {
  if (wish.apiKey !== undefined || wish.keyVariable !== undefined || provider.key !== undefined) return false
  if (namedBy === "provider" || namedBy === "variable") return true
  return parseAddress(provider.baseUrl)?.hostname === url.hostname
}

/** A provider as the settings may describe one: with a key, a wire and a window of its own. */
type OwnProvider = Provider & {
  readonly key?: string
  readonly apiMode?: string
  readonly contextLength?: number
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** What is said about single models, by name. */
  readonly models?: Readonly<Record<string, unknown>>
  readonly requestSeconds?: number
  readonly staleSeconds?: number
  readonly authorities?: NonNullable<ChosenModel["authorities"]>
}

/** `providers.<name>` of the settings: the person's own endpoints. */
function ownProvider(asked: string, config: Config): OwnProvider | undefined {
  const name = asked.startsWith("custom:") ? asked.slice("custom:".length) : asked
  const entry = config.lookup(`providers.${name}`)
  if (!isRecord(entry)) return undefined
  const field = (...names: string[]): string =>
    names.map((key) => entry[key]).find((value) => typeof value === "string") ?? ""
  const keyVariable = field("key_env", "api_key_env")
  const key = field("api_key")
  const apiMode = field("transport", "api_mode")
  const known = findProvider(name)
  const address = field("api", "url", "base_url")
  const authorities = field("ca_bundle").trim()
  const contextLength = numberField(entry, "context_length")
  const [requestSeconds, staleSeconds] = [
    numberField(entry, "request_timeout_seconds"),
    numberField(entry, "stale_timeout_seconds"),
  ]
  const { extra_body: extraBody, models } = entry
  return {
    ...(known ?? { ...CUSTOM_PROVIDER, id: name, aliases: [], name: field("name") || name, keyVariables: [] }),
    ...(keyVariable === "" ? {} : { keyVariables: [keyVariable] }),
    ...(address === "" ? {} : { baseUrl: address }),
    ...(field("default_model", "model") === "" ? {} : { defaultModel: field("default_model", "model") }),
    ...(key === "" ? {} : { key }),
    ...(apiMode === "" ? {} : { apiMode }),
    ...(contextLength === undefined ? {} : { contextLength }),
    ...(isRecord(extraBody) ? { extraBody } : {}),
    ...(isRecord(models) ? { models } : {}),
    ...(requestSeconds === undefined ? {} : { requestSeconds }),
    ...(staleSeconds === undefined ? {} : { staleSeconds }),
    ...(authorities === ""
      ? {}
      : { authorities: { path: authorities, setting: `the setting providers.${name}.ca_bundle` } }),
  }
}

/** A positive number; anything else counts as not said. */
function numberField(entry: unknown, name: string): number | undefined {
  const value = isRecord(entry) ? entry[name] : undefined
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined
}

/** The address, and who named it: only that decides which key may be sent there. */
interface Endpoint {
  readonly address: string
  readonly namedBy: "wish" | "settings" | "variable" | "provider"
}

function endpointOf(provider: Provider, wish: ModelWish, { config, environment }: ChoiceSources): Endpoint {
  if (wish.baseUrl !== undefined && wish.baseUrl !== "") return { address: wish.baseUrl, namedBy: "wish" }
  const configured = config.get("model.base_url").trim()
  if (configured !== "" && belongsToSettings(provider, config)) return { address: configured, namedBy: "settings" }
  const variable =
    provider.baseUrlVariable === undefined ? "" : (environment.get(provider.baseUrlVariable) ?? "").trim()
  if (variable !== "") return { address: variable, namedBy: "variable" }
  if (provider.authType === "aws_sdk")
    return { address: regional(provider.baseUrl, { config, environment }), namedBy: "provider" }
  return { address: provider.baseUrl.trim(), namedBy: "provider" }
}

/** The address names the region, so the region that was asked for goes into it. */
function regional(address: string, { config, environment }: Pick<ChoiceSources, "config" | "environment">): string {
  const named = [config.get("bedrock.region"), environment.get("AWS_REGION"), environment.get("AWS_DEFAULT_REGION")]
  const region = named.map((name) => name?.trim() ?? "").find((name) => name !== "")
  return region === undefined ? address : address.replace(/(bedrock-runtime\.)[^.]+/, `$1${region}`)
}

/** `model.base_url` and `model.api_key` belong to the provider that the settings name, and to no other. */
function belongsToSettings(provider: Provider, config: Config): boolean {
  const named = config.get("model.provider")
  return provider === CUSTOM_PROVIDER
    ? named === "auto" || findProvider(named) === provider
    : findProvider(named) === provider
}

/** A key is sent only to the host it was given for: the settings' to the settings' address, a provider's to that provider. */
function credentialFor(
  provider: OwnProvider,
  wish: ModelWish,
  endpoint: Endpoint & ChoiceSources & { readonly url: URL },
): { readonly key: string; readonly source: string } | undefined {
  const { config, environment, url } = endpoint
  if (wish.apiKey !== undefined && isUsableKey(wish.apiKey)) return { key: wish.apiKey, source: "its own entry" }
  if (wish.keyVariable !== undefined) {
    const key = environment.get(wish.keyVariable)?.trim() ?? ""
    return isUsableKey(key) ? { key, source: wish.keyVariable } : undefined
  }
  if (provider.key !== undefined && isUsableKey(provider.key)) {
    return { key: provider.key, source: `providers.${provider.id}.api_key` }
  }
  const configured = config.get("model.api_key")
  if (
    isUsableKey(configured) &&
    belongsToSettings(provider, config) &&
    (endpoint.namedBy === "settings" || endpoint.namedBy === "provider")
  ) {
    return { key: configured, source: "model.api_key" }
  }
  const ownHost = parseAddress(provider.baseUrl)?.hostname
  if ((endpoint.namedBy === "settings" || endpoint.namedBy === "wish") && ownHost !== url.hostname) return undefined
  return keyOf(provider, environment)
}

function keyOf(
  provider: Provider,
  environment: Environment,
): { readonly key: string; readonly source: string } | undefined {
  for (const name of provider.keyVariables) {
    const key = environment.get(name)?.trim() ?? ""
    if (isUsableKey(key)) return { key, source: name }
  }
  return undefined
}

function demo(byDefault: boolean): ChosenModel {
  return {
    runtime: DEMO_RUNTIME,
    key: undefined,
    managed: false,
    headers: {},
    extraBody: {},
    ownAddress: true,
    windowIsGuess: false,
    timeouts: {},
    wireAssumed: false,
    demoByDefault: byDefault,
  }
}

function parseAddress(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "" ? url : undefined
}

function stringEntries(mapping: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) =>
      typeof value === "string" ? [[name.toLowerCase(), value]] : [],
    ),
  )
}

function unknownProvider(asked: string, config: Config): ModelChoiceFailure {
  const own = config.lookup("providers")
  const names = [...PROVIDERS.map(({ id }) => id), "demo", ...(isRecord(own) ? Object.keys(own) : [])]
  const close = nearest(asked, names)
  return {
    code: "unknown_provider",
    message: `unknown provider "${asked}"${close === undefined ? "" : `; did you mean ${close}?`} Known: ${names.join(", ")}`,
  }
}

function missingKey(provider: Provider): ModelChoiceFailure {
  const variable = provider.keyVariables[0] ?? "its key"
  return {
    code: "missing_key",
    message: `${provider.name} needs a key: set it with \`hermes config set ${variable} …\``,
  }
}

function noServer({ name }: Provider): ModelChoiceFailure {
  return {
    code: "bad_address",
    message: `${name} is a program and no model server, so it cannot be asked; use \`--provider copilot\` with a token in COPILOT_GITHUB_TOKEN`,
  }
}

function badAddress(provider: Provider, address: string): ModelChoiceFailure {
  return address === ""
    ? {
        code: "bad_address",
        message: `${provider.name} needs an address: \`hermes config set model.base_url http://127.0.0.1:11434/v1\``,
      }
    : {
        code: "bad_address",
        message: `"${address}" is not an http(s) address; correct it with \`hermes config set model.base_url …\``,
      }
}
