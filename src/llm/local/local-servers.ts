import { assertNever } from "../../base/assert-never.ts"
import { isRecord, stringField } from "../../base/json.ts"
import type { Environment } from "../../config/environment.ts"
import { windowInMetadata } from "../catalog/context-window.ts"
import { openHttpConnection, type HttpConnection } from "../http/http-connection.ts"
import { requestJson } from "../http/http-json.ts"
import { isLocalAddress } from "./local-address.ts"

/** A model server on this machine or the local network, as probed now. */
export interface LocalServer {
  readonly kind: LocalServerKind
  readonly name: string
  /** The base URL of its Chat Completions API, with `/v1`. */
  readonly baseUrl: string
  readonly models: readonly LocalModel[]
}

export type LocalServerKind = "lmstudio" | "ollama" | "llamacpp" | "vllm" | "generic"

export interface LocalModel {
  readonly id: string
  /** Already in memory, so that it responds without a loading time. */
  readonly loaded: boolean
  /** The context window the server was configured with; absent when it does not report one. */
  readonly contextLength?: number
}

export type LocalModelChoice =
  | { readonly kind: "one"; readonly model: LocalModel }
  | { readonly kind: "several"; readonly models: readonly LocalModel[] }
  | { readonly kind: "none" }

/** The default ports of Ollama, LM Studio, llama.cpp and vLLM. */
const PORTS: readonly number[] = [11434, 1234, 8080, 8000]
const CONNECT_MS = 300
const TOTAL_MS = 2000

/** Probes the default ports and the addresses in the environment, in that order. Takes at most two seconds. */
export async function findLocalServers(options: {
  readonly environment: Environment
  readonly signal: AbortSignal
  /** Ports to probe instead of the default ones. */
  readonly ports?: readonly number[]
}): Promise<readonly LocalServer[]> {
  const onPorts = (options.ports ?? PORTS).map((port) => `http://127.0.0.1:${port}`)
  const addresses = [...new Set([...onPorts, ...environmentAddresses(options.environment)])]
  const found = await Promise.all(addresses.map((address) => identifyServer(address, { signal: options.signal })))
  return found.filter((server) => server !== undefined)
}

/** Identifies the server at an address (with or without `/v1`) and its models; undefined without a model server. */
export async function identifyServer(
  address: string,
  options: { readonly signal: AbortSignal; readonly key?: string },
): Promise<LocalServer | undefined> {
  const root = address.replace(/\/+$/, "").replace(/\/v1$/, "")
  if (!URL.canParse(root) || !/^https?:/.test(root)) return undefined
  const connection = openHttpConnection(new URL(root))
  const probe = createProbe(connection, options)
  try {
    // Sent in parallel, evaluated in order, because some servers also respond to the paths of others.
    const responses = await Promise.all(PROBE_PATHS.map((path) => probe(path)))
    const responseOf = (path: (typeof PROBE_PATHS)[number]): unknown => responses[PROBE_PATHS.indexOf(path)]
    const kind = kindOf(responseOf)
    if (kind === undefined) return undefined
    const models = await modelsOf(kind, responseOf, probe)
    return { kind, name: NAMES[kind], baseUrl: `${root}/v1`, models }
  } finally {
    connection.close()
  }
}

/** The context window that Ollama uses for a model; undefined without Ollama, or when it does not report one yet. */
export async function fetchOllamaWindow(
  { baseUrl, model }: { readonly baseUrl: string; readonly model: string },
  options: { readonly signal: AbortSignal; readonly key?: string },
): Promise<number | undefined> {
  const connection = openHttpConnection(new URL(baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")))
  const probe = createProbe(connection, options)
  try {
    const shown = await probe("/api/show", { model })
    if (!isRecord(shown) || !("model_info" in shown || "parameters" in shown)) return undefined
    const running = records(await probe("/api/ps"), "models").find((entry) =>
      [model, `${model}:latest`].includes(stringField(entry, "model") ?? stringField(entry, "name") ?? ""),
    )
    return configuredWindow(shown) ?? windowInMetadata(running)
  } finally {
    connection.close()
  }
}

/**
 * Selects the named model; without a name the only loaded one, else the only one. With several candidates the user has
 * to choose.
 */
export function chooseLocalModel(server: LocalServer, named?: string): LocalModelChoice {
  if (named !== undefined) {
    const found = server.models.find(({ id }) => id === named || id === `${named}:latest`)
    return found === undefined ? { kind: "none" } : { kind: "one", model: found }
  }
  const loaded = server.models.filter((model) => model.loaded)
  const candidates = loaded.length > 0 ? loaded : server.models
  const [only] = candidates
  if (only === undefined) return { kind: "none" }
  return candidates.length === 1 ? { kind: "one", model: only } : { kind: "several", models: candidates }
}

const NAMES: Readonly<Record<LocalServerKind, string>> = {
  lmstudio: "LM Studio",
  ollama: "Ollama",
  llamacpp: "llama.cpp",
  vllm: "vLLM",
  generic: "a model server",
}

const PROBE_PATHS = ["/api/v1/models", "/api/tags", "/v1/props", "/props", "/version", "/v1/models"] as const

type ProbeResponses = (path: (typeof PROBE_PATHS)[number]) => unknown

/** The JSON of a response with status 200; undefined for anything else, including no response. */
type Probe = (path: string, body?: unknown) => Promise<unknown>

function createProbe(
  connection: HttpConnection,
  options: { readonly signal: AbortSignal; readonly key?: string },
): Probe {
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(TOTAL_MS)])
  const headers: Record<string, string> = options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }
  const timeouts = { connectMs: CONNECT_MS, idleMs: TOTAL_MS }
  return async (path, body) => {
    try {
      const { status, json } = await requestJson(connection, { path, body, headers, signal, timeouts })
      return status === 200 ? json : undefined
    } catch {
      // No server, or none that uses HTTP: not a match.
      return undefined
    }
  }
}

function kindOf(responseOf: ProbeResponses): LocalServerKind | undefined {
  if (isRecord(responseOf("/api/v1/models"))) return "lmstudio"
  // LM Studio responds with 200 and an error here, so the status alone is not enough.
  const tags = responseOf("/api/tags")
  if (isRecord(tags) && Array.isArray(tags["models"])) return "ollama"
  if (
    [responseOf("/v1/props"), responseOf("/props")].some(
      (props) => isRecord(props) && "default_generation_settings" in props,
    )
  ) {
    return "llamacpp"
  }
  const version = responseOf("/version")
  if (isRecord(version) && "version" in version) return "vllm"
  const models = responseOf("/v1/models")
  return isRecord(models) && Array.isArray(models["data"]) ? "generic" : undefined
}

async function modelsOf(
  kind: LocalServerKind,
  responseOf: ProbeResponses,
  probe: Probe,
): Promise<readonly LocalModel[]> {
  switch (kind) {
    case "lmstudio":
      return lmStudioModels(responseOf)
    case "ollama":
      return await ollamaModels(responseOf("/api/tags"), probe)
    case "llamacpp":
      return llamaCppModels(responseOf)
    case "vllm":
    case "generic":
      return listedModels(responseOf)
    default:
      return assertNever(kind)
  }
}

/** The entries of `/v1/models`, which are all loaded. */
function listedModels(responseOf: ProbeResponses): readonly LocalModel[] {
  return records(responseOf("/v1/models"), "data").flatMap((entry) => {
    const id = stringField(entry, "id")
    return id === undefined ? [] : [localModel(id, { loaded: true, contextLength: windowInMetadata(entry) })]
  })
}

/** Every loaded instance has its own context window; a model on disk has none, because it is set when loading. */
function lmStudioModels(responseOf: ProbeResponses): readonly LocalModel[] {
  const list = responseOf("/api/v1/models")
  const entries = [...records(list, "models"), ...records(list, "data")]
  if (entries.length === 0) return listedModels(responseOf).map((model) => ({ ...model, loaded: false }))
  return entries
    .filter((entry) => !/embed/i.test(stringField(entry, "type") ?? ""))
    .flatMap((entry): LocalModel[] => {
      const key = stringField(entry, "key") ?? stringField(entry, "id")
      if (key === undefined) return []
      const instances = records(entry, "loaded_instances")
      if (instances.length === 0) return [lmStudioModel(key, entry)]
      return instances.map((instance) =>
        localModel(stringField(instance, "id") ?? key, {
          loaded: true,
          contextLength: windowInMetadata(instance["config"]),
        }),
      )
    })
}

/** Older releases report the state and the window in the model entry. */
function lmStudioModel(key: string, entry: Readonly<Record<string, unknown>>): LocalModel {
  const loaded = stringField(entry, "state") === "loaded"
  const contextLength = windowInMetadata({ context_length: entry["loaded_context_length"] })
  return localModel(key, loaded ? { loaded, contextLength } : { loaded })
}

async function ollamaModels(tags: unknown, probe: Probe): Promise<readonly LocalModel[]> {
  const names = records(tags, "models").flatMap(
    (entry) => stringField(entry, "model") ?? stringField(entry, "name") ?? [],
  )
  const running = new Map(
    records(await probe("/api/ps"), "models").flatMap((entry) => {
      const name = stringField(entry, "model") ?? stringField(entry, "name")
      return name === undefined ? [] : [[name, windowInMetadata(entry)] as const]
    }),
  )
  const models = await Promise.all(
    names.map(async (name) => {
      const shown = await probe("/api/show", { model: name })
      const contextLength = ollamaWindow(shown, running.get(name))
      return isEmbeddingOnly(shown) ? [] : [localModel(name, { loaded: running.has(name), contextLength })]
    }),
  )
  return models.flat()
}

/** Embedding models list no `completion` capability; older releases of Ollama list no capabilities. */
function isEmbeddingOnly(shown: unknown): boolean {
  const abilities = isRecord(shown) ? shown["capabilities"] : undefined
  return Array.isArray(abilities) && !abilities.includes("completion")
}

/** `num_ctx` of the model file, else the window of the loaded model, else the one it was trained for. */
function ollamaWindow(shown: unknown, running: number | undefined): number | undefined {
  const given = configuredWindow(shown) ?? running
  if (given !== undefined) return given
  const info = isRecord(shown) && isRecord(shown["model_info"]) ? shown["model_info"] : {}
  const trained = Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1]
  return typeof trained === "number" && trained > 0 ? trained : undefined
}

function configuredWindow(shown: unknown): number | undefined {
  const tokens = /^\s*num_ctx\s+(\d+)\s*$/m.exec(stringField(shown, "parameters") ?? "")?.[1]
  return tokens === undefined ? undefined : Number(tokens)
}

/** The model with the window the server was started with; `/v1/models` only lists the trained one. */
function llamaCppModels(responseOf: ProbeResponses): readonly LocalModel[] {
  const contextLength = [responseOf("/v1/props"), responseOf("/props")]
    .map((props) => (isRecord(props) ? props["default_generation_settings"] : undefined))
    .map((settings) => (isRecord(settings) ? settings["n_ctx"] : undefined))
    .find((tokens) => typeof tokens === "number" && tokens > 0)
  return listedModels(responseOf).map(({ id }) =>
    localModel(id, { loaded: true, contextLength: typeof contextLength === "number" ? contextLength : undefined }),
  )
}

function localModel(
  id: string,
  { loaded, contextLength }: { readonly loaded: boolean; readonly contextLength?: number | undefined },
): LocalModel {
  return { id, loaded, ...(contextLength === undefined ? {} : { contextLength }) }
}

function records(value: unknown, key: string): readonly Record<string, unknown>[] {
  const list = isRecord(value) ? value[key] : undefined
  return Array.isArray(list) ? list.filter(isRecord) : []
}

/** Local addresses in the environment, as a URL, a host, or a host with port. Public addresses are not probed. */
/** The address in Ollama's own variable. */
export function ollamaHost(environment: Environment): string | undefined {
  return parseAddress(environment.get("OLLAMA_HOST"), 11434)
}

function environmentAddresses(environment: Environment): readonly string[] {
  return [
    ollamaHost(environment),
    parseAddress(environment.get("LM_BASE_URL"), 1234),
    parseAddress(environment.get("OPENAI_BASE_URL"), undefined),
  ].flatMap((address) => (address === undefined || !isLocalAddress(address) ? [] : [address]))
}

function parseAddress(value: string | undefined, defaultPort: number | undefined): string | undefined {
  const text = (value ?? "").trim()
  if (text === "") return undefined
  const withScheme = text.includes("://") ? text : `http://${text.startsWith(":") ? `127.0.0.1${text}` : text}`
  if (!URL.canParse(withScheme)) return undefined
  const url = new URL(withScheme)
  // These mean "listen on all interfaces"; connect to the loopback address instead.
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1"
  if (url.port === "" && !text.includes("://") && defaultPort !== undefined) url.port = String(defaultPort)
  return url.href.replace(/\/+$/, "").replace(/\/v1$/, "")
}
