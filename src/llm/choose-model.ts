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
  mayUsePool,
  keyFromEnvironment,
  parseAddress,
} from "./endpoint-and-credential.ts"
import type { RequestedEndpoint, Endpoint } from "./endpoint-and-credential.ts"
import { resolveContextWindow } from "./catalog/context-window.ts"
import { cachedWindow, readWindowCache } from "./catalog/context-window-cache.ts"
import { DEMO_RUNTIME } from "./demo/runtime.ts"
import { detectWire } from "./detect-wire.ts"
import { isLocalAddress } from "./local/local-address.ts"
import { findUserAlias, modelNameFor } from "./catalog/model-names.ts"
import type { ModelRuntime } from "./model.ts"
import { headerEntries, numberField, findConfiguredProvider } from "./configured-provider.ts"
import type { ConfiguredProvider } from "./configured-provider.ts"
import type { Provider } from "./provider.ts"
import { CUSTOM_PROVIDER, PROVIDERS, findProvider } from "./providers.ts"

/** A model, its endpoint and the key for it. The key never leaves `llm`. */
export interface ChosenModel {
  readonly runtime: ModelRuntime
  /** The API key; absent when a stored login or no credential is used. */
  readonly key: string | undefined
  /** Keys and logins of the provider's pool may be used: the endpoint is the provider's own and no other key was requested. */
  readonly usesPool: boolean
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
  /** Holds the cache of context windows; without it the cache is not used. */
  readonly home?: Home
}

/**
 * Chooses the model, endpoint and key. Order: the selection, the settings, a stored login, the first provider with a usable key,
 * the demo model. A key is only ever combined with the address of its own provider.
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
  return ok(demo({ byDefault: true }))
}

/** Replaces an alias from the settings with its model, provider and base URL. */
function expandAlias(selection: ModelSelection, config: Config): ModelSelection {
  if (selection.model === undefined) return selection
  const aliases = { modelAliases: config.get("model_aliases"), shortAliases: config.get("model.aliases") }
  const alias = findUserAlias(selection.model, aliases)
  return alias === undefined ? selection : { ...alias, ...selection, model: alias.model }
}

function automaticProvider({ environment, storedProviders: stored }: ChoiceSources): Provider | undefined {
  const login = stored.map((id) => findProvider(id)).find((provider) => provider !== undefined)
  if (login !== undefined) return login
  const keyed = PROVIDERS.find(
    (provider) =>
      provider.keyOptional !== true &&
      provider.neverAutomatic !== true &&
      keyFromEnvironment(provider, environment) !== undefined,
  )
  if (keyed !== undefined) return keyed
  const cloud = PROVIDERS.find(({ authType }) => authType === "aws_sdk")
  return (environment.get("AWS_ACCESS_KEY_ID") ?? "") === "" ? undefined : cloud
}

function complete(
  provider: ConfiguredProvider,
  selection: ModelSelection,
  sources: ChoiceSources,
): Result<ChosenModel, ModelChoiceFailure> {
  const { config, home } = sources
  if (provider.authType === "external_process") return fail(noServer(provider))
  const endpoint = resolveEndpoint(provider, selection, sources)
  const url = parseAddress(endpoint.address)
  if (url === undefined) return fail(badAddress(provider, endpoint.address, config))
  const local = isLocalAddress(endpoint.address)
  const credential = resolveApiKey(provider, selection, { ...sources, ...endpoint, url })
  const keyless = provider.keyOptional === true || provider.authType === "aws_sdk" || local
  if (credential === undefined && !keyless && !sources.storedProviders.includes(provider.id))
    return fail(missingKey(provider))
  const named = selection.model ?? (config.get("model.default") || provider.defaultModel)
  if (named === "") return fail(missingModel(provider, endpoint.address))
  const model = modelNameFor(provider, named)
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
      credentialSource:
        credential?.source ?? (sources.storedProviders.includes(provider.id) ? "auth.json" : "none needed"),
      billingMode: local ? "local" : "metered",
    },
    key: credential?.key,
    usesPool: mayUsePool(provider, selection, { ...endpoint, url }),
    headers: { ...provider.headers, ...(isMain ? headerEntries(config.get("model.default_headers")) : {}) },
    extraBody: provider.extraBody ?? {},
    ...(provider.defaultMaxTokens === undefined ? {} : { maxTokensDefault: provider.defaultMaxTokens }),
    usesDefaultEndpoint: endpoint.source === "provider",
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

function demo({ byDefault }: { readonly byDefault: boolean }): ChosenModel {
  return {
    runtime: DEMO_RUNTIME,
    key: undefined,
    usesPool: false,
    headers: {},
    extraBody: {},
    usesDefaultEndpoint: true,
    windowIsGuess: false,
    timeouts: {},
    wireAssumed: false,
    demoByDefault: byDefault,
  }
}

function unknownProvider(name: string, config: Config): ModelChoiceFailure {
  const configured = config.lookup("providers")
  const names = [...PROVIDERS.map(({ id }) => id), "demo", ...(isRecord(configured) ? Object.keys(configured) : [])]
  const close = nearest(name, names)
  return {
    code: "unknown_provider",
    message: `unknown provider "${name}"${close === undefined ? "" : `; did you mean ${close}?`} Known: ${names.join(", ")}`,
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
    message: `no model is set for ${name} at ${address}; choose one with --model or \`hermes config set model.default NAME\``,
  }
}

function noServer({ name }: Provider): ModelChoiceFailure {
  return {
    code: "bad_address",
    message: `${name} is a program, not a model server, so Hermes cannot send requests to it; use \`--provider copilot\` with a token in COPILOT_GITHUB_TOKEN`,
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
