import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import type { Environment } from "../config/environment.ts"
import type { Config } from "../config/load.ts"
import { DEMO_RUNTIME } from "./demo/runtime.ts"
import type { ModelRuntime } from "./model.ts"
import { CUSTOM_PROVIDER, PROVIDERS, findProvider } from "./providers.ts"
import type { Provider } from "./providers.ts"

/** A runtime with the secret that opens it. The key never leaves `llm`. */
export interface ChosenModel {
  readonly runtime: ModelRuntime
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Nothing was configured, so the demo model answers; surfaces say it. */
  readonly demoByDefault: boolean
}

export interface ModelChoiceFailure {
  readonly code:
    | "no_provider_configured"
    | "unknown_provider"
    | "unsupported_wire"
    | "missing_key"
    | "missing_model"
    | "bad_address"
  readonly message: string
}

export interface ModelWish {
  readonly provider?: string
  readonly model?: string
}

/** An unknown cloud model is taken to have this window until the catalogue or an error says otherwise. */
const DEFAULT_CONTEXT = 256_000

/**
 * Which model, where and with which key: the flags first, then the settings, then the first provider with a usable key, then
 * the demo model. A key is only ever combined with the address of its own provider.
 */
export function chooseModel(
  wish: ModelWish,
  options: { readonly config: Config; readonly environment: Environment },
): Result<ChosenModel, ModelChoiceFailure> {
  const { config, environment } = options
  const asked = wish.provider ?? config.get("model.provider")
  if (asked === "demo") return ok(demo(false))
  if (asked !== "" && asked !== "auto") {
    const own = ownProvider(asked, config)
    const known = own ?? findProvider(asked)
    return known === undefined ? fail(unknownProvider(asked, config)) : complete(known, wish, options)
  }
  if (config.get("model.base_url") !== "") return complete(CUSTOM_PROVIDER, wish, options)
  const usable = PROVIDERS.find(
    (provider) =>
      provider.keyOptional !== true &&
      provider.wire === "chat_completions" &&
      keyOf(provider, environment) !== undefined,
  )
  if (usable !== undefined) return complete(usable, wish, options)
  if ((environment.get("OPENAI_BASE_URL") ?? "") !== "") return complete(CUSTOM_PROVIDER, wish, options)
  return ok(demo(true))
}

function complete(
  provider: Provider & { readonly key?: string },
  wish: ModelWish,
  { config, environment }: { readonly config: Config; readonly environment: Environment },
): Result<ChosenModel, ModelChoiceFailure> {
  if (provider.wire !== "chat_completions") {
    return fail({
      code: "unsupported_wire",
      message: `${provider.name} speaks ${provider.wire}, which this release does not have yet; use an OpenAI-compatible provider such as openrouter`,
    })
  }
  const endpoint = endpointOf(provider, { config, environment })
  const url = parseAddress(endpoint.address)
  if (url === undefined) return fail(badAddress(provider, endpoint.address))
  const credential = credentialFor(provider, { ...endpoint, url, config, environment })
  if (credential === undefined && provider.keyOptional !== true && !isLocal(url)) return fail(missingKey(provider))
  const model = wish.model ?? (config.get("model.default") || provider.defaultModel)
  if (model === "") {
    return fail({
      code: "missing_model",
      message: `no model is chosen for ${provider.name} at ${endpoint.address}; name one with --model or \`hermes config set model.default NAME\``,
    })
  }
  const configuredLength = config.get("model.context_length")
  return ok({
    runtime: {
      provider: provider.id,
      model,
      wire: provider.wire,
      baseUrl: endpoint.address.replace(/\/+$/, ""),
      contextLength: configuredLength ?? DEFAULT_CONTEXT,
      credentialSource: credential?.source ?? "none needed",
      billingMode: isLocal(url) ? "local" : "metered",
    },
    key: credential?.key,
    headers: stringEntries(config.get("model.default_headers")),
    demoByDefault: false,
  })
}

/** `providers.<name>` of the settings: the person's own endpoints. */
function ownProvider(asked: string, config: Config): (Provider & { readonly key?: string }) | undefined {
  const name = asked.startsWith("custom:") ? asked.slice("custom:".length) : asked
  const entry = config.lookup(`providers.${name}`)
  if (!isRecord(entry)) return undefined
  const field = (...names: string[]): string =>
    names.map((key) => entry[key]).find((value) => typeof value === "string") ?? ""
  const keyVariable = field("key_env", "api_key_env")
  const key = field("api_key")
  return {
    id: name,
    aliases: [],
    name: field("name") || name,
    keyVariables: keyVariable === "" ? [] : [keyVariable],
    baseUrl: field("api", "url", "base_url"),
    wire: "chat_completions",
    defaultModel: field("default_model", "model"),
    keyOptional: true,
    ...(key === "" ? {} : { key }),
  }
}

/** The address, and who named it: only that decides which key may be sent there. */
interface Endpoint {
  readonly address: string
  readonly namedBy: "settings" | "variable" | "provider"
}

function endpointOf(
  provider: Provider,
  { config, environment }: { readonly config: Config; readonly environment: Environment },
): Endpoint {
  const configured = config.get("model.base_url").trim()
  if (configured !== "" && belongsToSettings(provider, config)) return { address: configured, namedBy: "settings" }
  const variable =
    provider.baseUrlVariable === undefined ? "" : (environment.get(provider.baseUrlVariable) ?? "").trim()
  if (variable !== "") return { address: variable, namedBy: "variable" }
  return { address: provider.baseUrl.trim(), namedBy: "provider" }
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
  provider: Provider & { readonly key?: string },
  endpoint: Endpoint & { readonly url: URL; readonly config: Config; readonly environment: Environment },
): { readonly key: string; readonly source: string } | undefined {
  const { config, environment, url } = endpoint
  if (provider.key !== undefined && isUsable(provider.key))
    return { key: provider.key, source: `providers.${provider.id}.api_key` }
  const configured = config.get("model.api_key")
  if (isUsable(configured) && belongsToSettings(provider, config) && endpoint.namedBy !== "variable") {
    return { key: configured, source: "model.api_key" }
  }
  const ownHost = parseAddress(provider.baseUrl)?.hostname
  if (endpoint.namedBy === "settings" && ownHost !== url.hostname) return undefined
  return keyOf(provider, environment)
}

function keyOf(
  provider: Provider,
  environment: Environment,
): { readonly key: string; readonly source: string } | undefined {
  for (const name of provider.keyVariables) {
    const key = environment.get(name)?.trim() ?? ""
    if (isUsable(key)) return { key, source: name }
  }
  return undefined
}

const PLACEHOLDERS = new Set(["", "your-key", "your-api-key", "changeme", "***", "none"])

function isUsable(key: string): boolean {
  return !PLACEHOLDERS.has(key.trim().toLowerCase())
}

function demo(byDefault: boolean): ChosenModel {
  return { runtime: DEMO_RUNTIME, key: undefined, headers: {}, demoByDefault: byDefault }
}

function parseAddress(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined
  const url = new URL(address)
  return (url.protocol === "http:" || url.protocol === "https:") && url.hostname !== "" ? url : undefined
}

function isLocal(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "")
  return (
    host === "localhost" ||
    host === "::1" ||
    host.endsWith(".local") ||
    /^(127|10|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(host)
  )
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
