import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest-name.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Config } from "../config/load-config.ts"
import {
  modelSettingsApplyTo,
  resolveApiKey,
  resolveEndpoint,
  allowedOrigins,
  externalKeys,
  keyFromEnvironment,
  parseAddress,
} from "./endpoint-and-credential.ts"
import type { RequestedEndpoint, Endpoint, ResolvedEndpoint } from "./endpoint-and-credential.ts"
import { resolveContextWindow } from "./catalog/context-window.ts"
import { cachedWindow, readWindowCache } from "./catalog/context-window-cache.ts"
import { DEMO_RUNTIME } from "./demo/runtime.ts"
import { detectWire, isHostBelow } from "./detect-wire.ts"
import { isLocalAddress } from "./local/local-address.ts"
import { findAliasedModel, findUserAlias, modelNameFor } from "./catalog/model-names.ts"
import type { CredentialOrigin } from "./credential.ts"
import { poolKey } from "./credentials/pool-key.ts"
import type { ModelRuntime } from "./model.ts"
import { headerEntries, numberField, findConfiguredProvider } from "./configured-provider.ts"
import type { ConfiguredProvider } from "./configured-provider.ts"
import { cloudAddress, cloudAddressHint } from "./cloud-address.ts"
import { usesCloudIdentity } from "./provider.ts"
import type { Provider } from "./provider.ts"
import { CUSTOM_PROVIDER, PROVIDERS, findProvider } from "./providers.ts"

/** A model, its endpoint and the key for it. The key never leaves `llm`. */
export interface ChosenModel {
  readonly runtime: ModelRuntime
  /** The API key; absent when a stored login or no credential is used. */
  readonly key: string | undefined
  /** Keys and logins of the provider's pool may be used: the endpoint is the provider's own and no other key was requested. */
  readonly usesPool: boolean
  /** Only these credentials of the pool; all of them when absent. */
  readonly poolOrigins?: readonly CredentialOrigin[]
  readonly headers: Readonly<Record<string, string>>
  readonly extraBody: Readonly<Record<string, unknown>>
  readonly maxTokensDefault?: number
  /** The base URL is the provider's default, so a login may be sent to the endpoint it was issued for instead. */
  readonly usesDefaultEndpoint: boolean
  /** The context length was derived from the model's name alone; `ModelClient.confirmWindow` gets the exact one. */
  readonly windowIsGuess: boolean
  /** Timeouts that the provider's settings configure. */
  readonly timeouts: { readonly requestSeconds?: number; readonly staleSeconds?: number }
  /** Minimum seconds between two requests (`rate_limit_delay`). */
  readonly requestDelaySeconds?: number
  /** False when the settings forbid requesting the endpoint's model list. */
  readonly discoverModels?: false
  /** `providers.<name>.ca_bundle`: a PEM file with certificate authorities to trust for this provider. */
  readonly caBundle?: { readonly path: string; readonly setting: string }
  /** The Responses wire was only assumed from the model's name; a 404 switches to Chat Completions. */
  readonly wireAssumed: boolean
  /** False once the endpoint has refused to stream. */
  readonly streaming?: boolean
  /** False once the endpoint has refused the long-context beta to this login. */
  readonly longContext?: boolean
  /** False once the endpoint has refused to report usage in streams. */
  readonly includeUsage?: boolean
  /** `model.supports_vision`; when absent, the catalogue decides. */
  readonly supportsVision?: boolean
  /** Nothing is configured, so the demo model was chosen; surfaces show a note about it. */
  readonly demoByDefault: boolean
  /** Why there is no model that could be used; set only by `noModel`. */
  readonly problem?: string
}

export interface ModelChoiceFailure {
  readonly code: "no_provider_configured" | "unknown_provider" | "missing_key" | "missing_model" | "bad_address"
  readonly message: string
}

/** A request for a model, from flags, `/model`, an alias or a `fallback_providers` entry; absent parts come from the settings. */
export interface ModelSelection extends RequestedEndpoint {
  readonly provider?: string
  readonly model?: string
  readonly apiMode?: string
  /** The context window that the server itself reports. */
  readonly listedWindow?: number
}

export interface ChoiceSources {
  readonly config: Config
  readonly environment: Environment
  /** Providers with a login or keys in auth.json, the active one first. */
  readonly storedProviders: readonly string[]
  /** Sources of keys that the user removed with `hermes auth remove`. */
  readonly suppressedSources?: ReadonlySet<string>
  /** Holds the cache of context windows; without it the cache is not used. */
  readonly home?: Home
}

/**
 * Chooses the model, endpoint and key. Order: the selection, the settings, a stored login, the first provider with a usable key,
 * the demo model if nothing is configured. A key is only ever combined with the address of its own provider.
 */
export function chooseModel(
  requested: ModelSelection,
  sources: ChoiceSources,
): Result<ChosenModel, ModelChoiceFailure> {
  const { config, environment } = sources
  const selection = expandAlias(requested, config)
  const name = selection.provider ?? config.get("model.provider")
  if (name === "demo") return ok(demo({ byDefault: false }))
  if (name !== "" && name !== "auto") {
    const provider = findConfiguredProvider(name, config) ?? findProvider(name)
    return provider === undefined ? fail(unknownProvider(name, config)) : complete(provider, selection, sources)
  }
  if (config.get("model.base_url") !== "") return complete(CUSTOM_PROVIDER, selection, sources)
  const provider = automaticProvider(sources)
  if (provider !== undefined) return complete(provider, selection, sources)
  if ((environment.get("OPENAI_BASE_URL") ?? "") !== "") return complete(CUSTOM_PROVIDER, selection, sources)
  const incomplete = incompleteSetup(selection, sources)
  return incomplete === undefined ? ok(demo({ byDefault: true })) : fail(incomplete)
}

/** The demo answers only where nothing is configured. A model, key or provider without the rest is a mistake to report. */
function incompleteSetup(selection: ModelSelection, sources: ChoiceSources): ModelChoiceFailure | undefined {
  const { config } = sources
  const code = "no_provider_configured"
  const withoutAddress = providerWithoutAddress(sources)
  if (withoutAddress !== undefined) return badAddress(withoutAddress, "", config)
  const model = selection.model ?? config.get("model.default")
  const own = Object.keys(config.get("providers"))
  const choose =
    own.length > 0
      ? `choose one with \`hermes config set model.provider ${own[0] ?? ""}\``
      : "choose one with `hermes model`, or set `hermes config set model.provider NAME` and the provider's key"
  if (model !== "") return { code, message: `no provider is configured for the model "${model}": ${choose}` }
  if (config.get("model.api_key") !== "")
    return { code, message: `\`model.api_key\` is set, but no provider that it belongs to: ${choose}` }
  if (own.length === 0) return undefined
  return { code, message: `no model is chosen, although \`providers\` lists ${own.join(", ")}: ${choose}` }
}

/**
 * Replaces an alias from the settings with its model, provider and base URL. A request that names a provider or an address stays there,
 * so an alias for another provider does not apply to it.
 */
function expandAlias(selection: ModelSelection, config: Config): ModelSelection {
  const { model, provider } = selection
  if (model === undefined || selection.baseUrl !== undefined) return selection
  const aliases = { modelAliases: config.get("model_aliases"), shortAliases: config.get("model.aliases") }
  const configured = config.get("model.provider")
  const current = provider ?? (configured === "" || configured === "auto" ? undefined : configured)
  const named = findUserAlias(model, aliases)
  const isNamed = named !== undefined && (provider === undefined || isSameProvider(named.provider, provider))
  const alias = isNamed ? named : findAliasedModel(model, aliases)
  if (alias === undefined || (!isNamed && current !== undefined && !isSameProvider(alias.provider, current)))
    return selection
  return { ...alias, ...selection, model: alias.model }
}

/** An alias without a provider is for any provider. */
function isSameProvider(ofAlias: string | undefined, name: string): boolean {
  return ofAlias === undefined || providerId(ofAlias) === providerId(name)
}

function providerId(name: string): string {
  return findProvider(name)?.id ?? name.replace(/^custom:/, "")
}

function automaticProvider(sources: ChoiceSources): Provider | undefined {
  const { environment, storedProviders: stored } = sources
  // A key for a server of the user's own says nothing about its address.
  const login = stored.flatMap((id) => findProvider(id) ?? []).find((provider) => hasAddress(provider, sources))
  if (login !== undefined) return login
  const keyed = PROVIDERS.find(
    (provider) =>
      provider.keyOptional !== true &&
      provider.neverAutomatic !== true &&
      hasAddress(provider, sources) &&
      keyFromEnvironment(provider, environment) !== undefined,
  )
  if (keyed !== undefined) return keyed
  const isSet = (name: string): boolean => (environment.get(name) ?? "") !== ""
  if (isSet("AWS_ACCESS_KEY_ID")) return PROVIDERS.find(({ authType }) => authType === "aws_sdk")
  // The variable with which Google's own tools choose Vertex AI instead of the Gemini API.
  const vertex = PROVIDERS.find(({ authType }) => authType === "google_adc")
  const isChosen = environment.truthy("GOOGLE_GENAI_USE_VERTEXAI") && vertex !== undefined
  return isChosen && hasAddress(vertex, sources) ? vertex : undefined
}

/** A provider that the environment chooses or has a key for, but whose account or address it does not name. */
function providerWithoutAddress(sources: ChoiceSources): Provider | undefined {
  const { environment } = sources
  const isVertexChosen = environment.truthy("GOOGLE_GENAI_USE_VERTEXAI")
  return PROVIDERS.find(
    (provider) =>
      !hasAddress(provider, sources) &&
      ((provider.authType === "google_adc" && isVertexChosen) ||
        (provider.cloud !== undefined && keyFromEnvironment(provider, environment) !== undefined)),
  )
}

/** False for a provider whose address the user has not configured yet. */
function hasAddress(provider: Provider, { config, environment, home }: ChoiceSources): boolean {
  const { baseUrl, baseUrlVariable = "" } = findConfiguredProvider(provider.id, config) ?? provider
  if (baseUrl !== "" || (environment.get(baseUrlVariable) ?? "") !== "") return true
  return (cloudAddress(provider, { config, environment, home, model: "any" }) ?? "") !== ""
}

function complete(
  provider: ConfiguredProvider,
  selection: ModelSelection,
  sources: ChoiceSources,
): Result<ChosenModel, ModelChoiceFailure> {
  const { config, home } = sources
  if (provider.authType === "external_process") return fail(noServer(provider))
  const named = selection.model ?? (config.get("model.default") || defaultModelOf(provider, sources))
  const model = modelNameFor(provider, named)
  const endpoint = resolveEndpoint(provider, selection, { ...sources, model })
  const url = parseAddress(endpoint.address)
  if (url === undefined) return fail(badAddress(provider, endpoint.address, config))
  const local = isLocalAddress(endpoint.address)
  const resolvedEndpoint = { ...sources, ...endpoint, url }
  const credential = resolveApiKey(provider, selection, resolvedEndpoint)
  const origins = allowedOrigins(provider, selection, resolvedEndpoint)
  if (credential === undefined && origins.length === 0 && !mayUseCloudIdentity(provider, url))
    return fail(foreignCloudAddress(provider, url))
  const isStored = origins.includes("stored") && hasStoredCredentials(provider, sources)
  const keyless = provider.keyOptional === true || usesCloudIdentity(provider) || local
  if (credential === undefined && !keyless && !isStored)
    return fail(missingKey(provider, selection, { ...resolvedEndpoint, origins }))
  const usesPool = origins.length > 0 && (isStored || credential !== undefined)
  if (named === "") return fail(missingModel(provider, endpoint.address))
  const apiMode = selection.apiMode ?? provider.apiMode ?? apiModeOf(provider, endpoint, config)
  const facts = { provider: provider.id, baseUrl: endpoint.address, model }
  const detected = detectWire({ ...facts, ...(apiMode === "" ? {} : { apiMode }) })
  const isMain = selection.baseUrl === undefined && provider.id === mainProvider(sources)
  const baseUrl = endpoint.address.replace(/\/+$/, "")
  const modelSettings = provider.models?.[model] ?? provider.models?.[named]
  const window = resolveContextWindow({
    ...facts,
    configured: isMain ? (config.get("model.context_length") ?? undefined) : undefined,
    configuredProvider: numberField(modelSettings, "context_length") ?? provider.contextLength,
    cached: home === undefined ? undefined : cachedWindow(readWindowCache(home), { model, baseUrl }),
    listed: selection.listedWindow,
  })
  return ok({
    runtime: {
      provider: provider.id,
      model,
      wire: detected.wire,
      baseUrl,
      contextLength: window.tokens,
      credentialSource: isStored ? "auth.json" : (credential?.source ?? "none needed"),
      billingMode: local ? "local" : "metered",
    },
    key: credential?.key,
    usesPool,
    ...(usesPool && origins.length < 3 ? { poolOrigins: origins } : {}),
    headers: {
      ...headersFor(provider, endpoint, origins),
      ...(isMain ? headerEntries(config.get("model.default_headers")) : {}),
    },
    extraBody: provider.extraBody ?? {},
    ...(provider.defaultMaxTokens === undefined ? {} : { maxTokensDefault: provider.defaultMaxTokens }),
    usesDefaultEndpoint: endpoint.source === "provider" && provider.hasOwnAddress !== true,
    windowIsGuess: window.source === "family" || window.source === "default",
    timeouts: timeoutsOf(provider, modelSettings),
    ...(provider.requestDelaySeconds === undefined ? {} : { requestDelaySeconds: provider.requestDelaySeconds }),
    ...(provider.discoverModels === undefined ? {} : { discoverModels: provider.discoverModels }),
    ...(provider.caBundle === undefined ? {} : { caBundle: provider.caBundle }),
    wireAssumed: detected.assumed,
    ...(isMain ? visionSetting(config) : {}),
    demoByDefault: false,
  })
}

function apiModeOf(provider: Provider, { source }: Endpoint, config: Config): string {
  return source !== "request" && modelSettingsApplyTo(provider, config) ? config.get("model.api_mode") : ""
}

function visionSetting(config: Config): Pick<ChosenModel, "supportsVision"> {
  const supportsVision = config.get("model.supports_vision")
  return supportsVision === null ? {} : { supportsVision }
}

function timeoutsOf(
  { requestSeconds, staleSeconds }: ConfiguredProvider,
  modelSettings: unknown,
): ChosenModel["timeouts"] {
  const request = numberField(modelSettings, "timeout_seconds") ?? requestSeconds
  return {
    ...(request === undefined ? {} : { requestSeconds: request }),
    ...(staleSeconds === undefined ? {} : { staleSeconds }),
  }
}

/** Returns the id of the provider that the `model.*` settings apply to. */
function mainProvider(sources: ChoiceSources): string | undefined {
  const named = sources.config.get("model.provider")
  if (named !== "" && named !== "auto")
    return findConfiguredProvider(named, sources.config)?.id ?? findProvider(named)?.id
  if (sources.config.get("model.base_url") !== "") return CUSTOM_PROVIDER.id
  return automaticProvider(sources)?.id ?? CUSTOM_PROVIDER.id
}

/** For a model that needs no server, so nothing about a connection was chosen: the demo, and the one that stands for none. */
export const WITHOUT_SERVER: Omit<ChosenModel, "runtime"> = {
  key: undefined,
  usesPool: false,
  headers: {},
  extraBody: {},
  usesDefaultEndpoint: true,
  windowIsGuess: false,
  timeouts: {},
  wireAssumed: false,
  demoByDefault: false,
}

function demo({ byDefault }: { readonly byDefault: boolean }): ChosenModel {
  return { ...WITHOUT_SERVER, runtime: DEMO_RUNTIME, demoByDefault: byDefault }
}

function unknownProvider(name: string, config: Config): ModelChoiceFailure {
  const configured = config.lookup("providers")
  const names = [...PROVIDERS.map(({ id }) => id), "demo", ...(isRecord(configured) ? Object.keys(configured) : [])]
  const close = nearest(name, names)
  // The names of all providers fill a screen; a close one is what the user needs.
  const hint =
    close === undefined ? `. Known: ${names.join(", ")}` : `; did you mean ${close}? \`hermes model\` lists all`
  return { code: "unknown_provider", message: `unknown provider "${name}"${hint}` }
}

/** Headers of the settings may contain a key, so an address that gets no key of the provider does not get them either. */
function headersFor(
  provider: ConfiguredProvider,
  { source }: Endpoint,
  origins: readonly CredentialOrigin[],
): Provider["headers"] {
  return source === "request" && origins.length === 0 ? findProvider(provider.id)?.headers : provider.headers
}

function hasStoredCredentials({ id }: Provider, { storedProviders, config }: ChoiceSources): boolean {
  return storedProviders.includes(poolKey(id, config))
}

/** A token of a cloud account is a key too: it goes to the cloud's own hosts and to an address that is configured for the provider. */
function mayUseCloudIdentity({ cloud, ...provider }: Provider, { hostname }: URL): boolean {
  if (!usesCloudIdentity(provider)) return true
  const domains = cloud === "google" ? ["googleapis.com"] : ["amazonaws.com", "amazonaws.com.cn"]
  return domains.some((domain) => isHostBelow(hostname, domain))
}

function foreignCloudAddress({ id, name }: Provider, { host }: URL): ModelChoiceFailure {
  return {
    code: "missing_key",
    message: `the credentials of your account for ${name} are not sent to ${host}; configure that address as providers.${id}.base_url, or name a key next to it`,
  }
}

function missingKey(
  provider: ConfiguredProvider,
  { keyVariable }: ModelSelection,
  endpoint: ResolvedEndpoint & ChoiceSources & { readonly origins: readonly CredentialOrigin[] },
): ModelChoiceFailure {
  const code = "missing_key"
  const { name, baseUrl } = provider
  if (keyVariable !== undefined)
    return { code, message: `the variable ${keyVariable}, which should contain the key for ${name}, is not set` }
  const others = externalKeys(provider, { ...endpoint, origins: ["environment", "settings"] })
  if (endpoint.origins.length < 3 && (others.length > 0 || hasStoredCredentials(provider, endpoint))) {
    const fix =
      endpoint.source === "settings"
        ? "set a key for it with `hermes config set model.api_key …`"
        : "name one next to the address, as key_env or api_key"
    return {
      code,
      message: `no key applies to ${endpoint.url.host}: the keys of ${name} are sent only to ${URL.parse(baseUrl)?.host ?? "its own address"}; ${fix}`,
    }
  }
  const variable = provider.keyVariables[0]
  const how =
    variable === undefined
      ? `add one with \`hermes auth add ${provider.id}\``
      : `set it with \`hermes config set ${variable} …\``
  return { code, message: `${name} needs a key: ${how}` }
}

function missingModel({ name }: Provider, address: string): ModelChoiceFailure {
  return {
    code: "missing_model",
    message: `no model is set for ${name} at ${address}; choose one with --model or \`hermes config set model.default NAME\``,
  }
}

function noServer({ name }: Provider): ModelChoiceFailure {
  return {
    code: "bad_address",
    message: `${name} is a program, not a model server, so Hermes cannot send requests to it; use \`--provider copilot\` with a token in COPILOT_GITHUB_TOKEN`,
  }
}

function defaultModelOf({ defaultModel, modelVariable = "" }: Provider, { environment }: ChoiceSources): string {
  return environment.get(modelVariable)?.trim() || defaultModel
}

function badAddress(provider: Provider, address: string, config: Config): ModelChoiceFailure {
  const { id, name } = provider
  const hint = cloudAddressHint(provider)
  if (address === "" && hint !== undefined) return { code: "bad_address", message: `${name} needs an address: ${hint}` }
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
