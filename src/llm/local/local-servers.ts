import { assertNever } from "../../base/assert-never.ts"
import { isRecord, stringField } from "../../base/json.ts"
import type { Environment } from "../../config/environment.ts"
import { windowInMetadata } from "../catalog/context-window.ts"
import { openHttpConnection, type HttpConnection } from "../http/http.ts"
import { askJson } from "../http/http-json.ts"
import { isLocalAddress } from "./local-address.ts"

/** A model server on this machine or nearby, as it was found a moment ago. */
export interface LocalServer {
  readonly kind: LocalServerKind
  readonly name: string
  /** Where the Chat Completions wire is spoken, with `/v1`. */
  readonly baseUrl: string
  readonly models: readonly LocalModel[]
}

export type LocalServerKind = "lmstudio" | "ollama" | "llamacpp" | "vllm" | "generic"

export interface LocalModel {
  readonly id: string
  /** In memory now, so that it answers without a wait. */
  readonly loaded: boolean
  /** What the server really gives it; absent when it does not say. */
  readonly contextLength?: number
}

export type LocalChoice =
  | { readonly kind: "one"; readonly model: LocalModel }
  | { readonly kind: "several"; readonly models: readonly LocalModel[] }
  | { readonly kind: "none" }

/** The usual ports of Ollama, LM Studio, llama.cpp and vLLM. */
const PORTS: readonly number[] = [11434, 1234, 8080, 8000]
const CONNECT_MS = 300
const TOTAL_MS = 2000

/** All servers that answer on the usual ports and at the addresses the environment names, in that order. Takes two seconds at most. */
export async function findLocalServers(options: {
  readonly environment: Environment
  readonly signal: AbortSignal
  /** Other ports to try; the usual ones when absent. */
  readonly ports?: readonly number[]
}): Promise<readonly LocalServer[]> {
  const usual = (options.ports ?? PORTS).map((port) => `http://127.0.0.1:${port}`)
  const addresses = [...new Set([...usual, ...namedAddresses(options.environment)])]
  const found = await Promise.all(addresses.map((address) => identifyServer(address, { signal: options.signal })))
  return found.filter((server) => server !== undefined)
}

/** What kind of server answers at an address (with or without `/v1`), and its models; undefined when none does. */
export async function identifyServer(
  address: string,
  options: { readonly signal: AbortSignal; readonly key?: string },
): Promise<LocalServer | undefined> {
  const root = address.replace(/\/+$/, "").replace(/\/v1$/, "")
  if (!URL.canParse(root) || !/^https?:/.test(root)) return undefined
  const connection = openHttpConnection(new URL(root))
  const probe = createProbe(connection, options)
  try {
    // Sent together; judged in the order of the table, because some servers answer to names that are not theirs.
    const answers = await Promise.all(QUESTIONS.map((path) => probe(path)))
    const at = (path: (typeof QUESTIONS)[number]): unknown => answers[QUESTIONS.indexOf(path)]
    const kind = kindOf(at)
    if (kind === undefined) return undefined
    const models = await modelsOf(kind, at, probe)
    return { kind, name: NAMES[kind], baseUrl: `${root}/v1`, models }
  } finally {
    connection.close()
  }
}

/** The window that Ollama really gives a model; undefined where no Ollama answers, or where it has not said yet. */
export async function askOllama(
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

/** The model that was named; without a name a single one is meant, and so is the single one in memory; otherwise somebody has to choose. */
export function localChoice(server: LocalServer, named?: string): LocalChoice {
  if (named !== undefined) {
    const meant = server.models.find(({ id }) => id === named || id === `${named}:latest`)
    return meant === undefined ? { kind: "none" } : { kind: "one", model: meant }
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

const QUESTIONS = ["/api/v1/models", "/api/tags", "/v1/props", "/props", "/version", "/v1/models"] as const

type Answers = (path: (typeof QUESTIONS)[number]) => unknown

/** The JSON of an answer with code 200; undefined for everything else, silence included. */
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
      const { status, json } = await askJson(connection, { path, body, headers, signal, timeouts })
      return status === 200 ? json : undefined
    } catch {
      // Nobody there, or nobody who speaks HTTP: that is the answer to the question.
      return undefined
    }
  }
}

function kindOf(at: Answers): LocalServerKind | undefined {
  if (isRecord(at("/api/v1/models"))) return "lmstudio"
  // LM Studio answers 200 with an error here, so the code alone says nothing.
  const tags = at("/api/tags")
  if (isRecord(tags) && Array.isArray(tags["models"])) return "ollama"
  if ([at("/v1/props"), at("/props")].some((props) => isRecord(props) && "default_generation_settings" in props)) {
    return "llamacpp"
  }
  const version = at("/version")
  if (isRecord(version) && "version" in version) return "vllm"
  const models = at("/v1/models")
  return isRecord(models) && Array.isArray(models["data"]) ? "generic" : undefined
}

async function modelsOf(kind: LocalServerKind, at: Answers, probe: Probe): Promise<readonly LocalModel[]> {
  switch (kind) {
    case "lmstudio":
      return lmStudioModels(at)
    case "ollama":
      return await ollamaModels(at("/api/tags"), probe)
    case "llamacpp":
      return llamaCppModels(at)
    case "vllm":
    case "generic":
      return listed(at)
    default:
      return assertNever(kind)
  }
}

/** Entries of `/v1/models`: a server that lists them serves them. */
function listed(at: Answers): readonly LocalModel[] {
  return records(at("/v1/models"), "data").flatMap((entry) => {
    const id = stringField(entry, "id")
    return id === undefined ? [] : [localModel(id, { loaded: true, contextLength: windowInMetadata(entry) })]
  })
}

/** Every instance in memory has a window of its own; what is only on disk shows none, because it is chosen when it is loaded. */
function lmStudioModels(at: Answers): readonly LocalModel[] {
  const answer = at("/api/v1/models")
  const entries = [...records(answer, "models"), ...records(answer, "data")]
  if (entries.length === 0) return listed(at).map((model) => ({ ...model, loaded: false }))
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

/** Older releases give the state and the window with the model itself. */
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
      return answersNothing(shown) ? [] : [localModel(name, { loaded: running.has(name), contextLength })]
    }),
  )
  return models.flat()
}

/** Models that only embed texts say so; older releases of Ollama say nothing. */
function answersNothing(shown: unknown): boolean {
  const abilities = isRecord(shown) ? shown["capabilities"] : undefined
  return Array.isArray(abilities) && !abilities.includes("completion")
}

/** `num_ctx` of the model file is what a call gets; else what the model in memory was given; else what it was trained for. */
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

/** One model, with the window the server was started with; its own list only knows what it was trained for. */
function llamaCppModels(at: Answers): readonly LocalModel[] {
  const contextLength = [at("/v1/props"), at("/props")]
    .map((props) => (isRecord(props) ? props["default_generation_settings"] : undefined))
    .map((settings) => (isRecord(settings) ? settings["n_ctx"] : undefined))
    .find((tokens) => typeof tokens === "number" && tokens > 0)
  return listed(at).map(({ id }) =>
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

/** Addresses that the environment names, as people write them: a URL, a host, a host with port. A vendor's is not probed. */
function namedAddresses(environment: Environment): readonly string[] {
  return [
    namedAddress(environment.get("OLLAMA_HOST"), 11434),
    namedAddress(environment.get("LM_BASE_URL"), 1234),
    namedAddress(environment.get("OPENAI_BASE_URL"), undefined),
  ].flatMap((address) => (address === undefined || !isLocalAddress(address) ? [] : [address]))
}

function namedAddress(written: string | undefined, usualPort: number | undefined): string | undefined {
  const text = (written ?? "").trim()
  if (text === "") return undefined
  const withScheme = text.includes("://") ? text : `http://${text.startsWith(":") ? `127.0.0.1${text}` : text}`
  if (!URL.canParse(withScheme)) return undefined
  const url = new URL(withScheme)
  // A server is told to listen everywhere; it is reached here.
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "127.0.0.1"
  if (url.port === "" && !text.includes("://") && usualPort !== undefined) url.port = String(usualPort)
  return url.href.replace(/\/+$/, "").replace(/\/v1$/, "")
}
