import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load.ts"
import { belongsToSettings, credentialFor, endpointOf, isManaged, keyOf, parseAddress } from "./address-and-key.ts"
import type { AddressWish, Endpoint } from "./address-and-key.ts"
import { resolveContextWindow } from "./catalog/context-window.ts"
import { cachedWindow, readWindowCache } from "./catalog/window-cache.ts"
import { DEMO_RUNTIME } from "./demo/runtime.ts"
import { detectWire } from "./detect-wire.ts"
import { isLocalAddress } from "./local/local-address.ts"
import { findUserAlias, modelNameFor } from "./catalog/model-names.ts"
import type { ModelRuntime } from "./model.ts"
import { headerEntries, numberField, ownProvider } from "./own-provider.ts"
import type { OwnProvider } from "./own-provider.ts"
import type { Provider } from "./provider.ts"
import { CUSTOM_PROVIDER, PROVIDERS, findProvider } from "./providers.ts"

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
  /** Seconds that the settings want between two requests. */
  readonly gapSeconds?: number
  /** The settings say that the place is not to be asked which models it has. */
  readonly listsModels?: false
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

/** Entries of `fallback_providers` may also name an address with a key of its own. */
export interface ModelWish extends AddressWish {
  readonly provider?: string
  readonly model?: string
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
  if (url === undefined) return fail(badAddress(provider, endpoint.address, config))
  const local = isLocalAddress(endpoint.address)
  const credential = credentialFor(provider, wish, { ...sources, ...endpoint, url })
  const keyless = provider.keyOptional === true || provider.authType === "aws_sdk" || local
  if (credential === undefined && !keyless && !sources.stored.includes(provider.id)) return fail(missingKey(provider))
  const named = wish.model ?? (config.get("model.default") || provider.defaultModel)
  if (named === "") return fail(missingModel(provider, endpoint.address))
  const model = modelNameFor(provider, named)
  const apiMode = wish.apiMode ?? provider.apiMode ?? apiModeOf(provider, endpoint, config)
  const place = { provider: provider.id, baseUrl: endpoint.address, model }
  const detected = detectWire({ ...place, ...(apiMode === "" ? {} : { apiMode }) })
  const isMain = wish.baseUrl === undefined && provider.id === mainProvider(sources)
  const baseUrl = endpoint.address.replace(/\/+$/, "")
  const ownModel = provider.models?.[model] ?? provider.models?.[named]
  const window = resolveContextWindow({
    ...place,
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
    headers: { ...provider.headers, ...(isMain ? headerEntries(config.get("model.default_headers")) : {}) },
    extraBody: provider.extraBody ?? {},
    ...(provider.defaultMaxTokens === undefined ? {} : { maxTokensDefault: provider.defaultMaxTokens }),
    ownAddress: endpoint.namedBy === "provider",
    windowIsGuess: window.source === "family" || window.source === "default",
    timeouts: timeoutsOf(provider, ownModel),
    ...(provider.gapSeconds === undefined ? {} : { gapSeconds: provider.gapSeconds }),
    ...(provider.listsModels === undefined ? {} : { listsModels: provider.listsModels }),
    ...(provider.authorities === undefined ? {} : { authorities: provider.authorities }),
    wireAssumed: detected.upgraded,
    ...(isMain ? eyesOf(config) : {}),
    demoByDefault: false,
  })
}

function apiModeOf(provider: Provider, { namedBy }: Endpoint, config: Config): string {
  return namedBy !== "wish" && belongsToSettings(provider, config) ? config.get("model.api_mode") : ""
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

function missingModel({ name }: Provider, address: string): ModelChoiceFailure {
  return {
    code: "missing_model",
    message: `no model is chosen for ${name} at ${address}; name one with --model or \`hermes config set model.default NAME\``,
  }
}

function noServer({ name }: Provider): ModelChoiceFailure {
  return {
    code: "bad_address",
    message: `${name} is a program and no model server, so it cannot be asked; use \`--provider copilot\` with a token in COPILOT_GITHUB_TOKEN`,
  }
}

function badAddress({ id, name }: Provider, address: string, config: Config): ModelChoiceFailure {
  const own = config.lookup(`providers.${id}`) !== undefined && findProvider(id)?.id !== id
  const setting = own ? `providers.${id}.base_url` : "model.base_url"
  return {
    code: "bad_address",
    message:
      address === ""
        ? `${name} needs an address: \`hermes config set ${setting} http://127.0.0.1:11434/v1\``
        : `"${address}" is not an http(s) address; correct it with \`hermes config set ${setting} …\``,
  }
}
