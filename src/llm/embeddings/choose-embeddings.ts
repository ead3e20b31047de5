import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Environment } from "../../config/environment.ts"
import type { Config } from "../../config/load-config.ts"
import type { ChosenModel, ModelChoiceFailure, ModelSelection } from "../choose-model.ts"
import type { ModelRuntime } from "../model.ts"
import { isLocalAddress } from "../local/local-address.ts"
import { ollamaHost } from "../local/local-servers.ts"
import { GEMINI_EMBEDDINGS, OLLAMA_EMBEDDINGS, OPENAI_EMBEDDINGS } from "./embedding-format.ts"
import type { EmbeddingFormat } from "./embedding-format.ts"

/** The endpoint, model and key that embeddings are requested with. */
export interface ChosenEmbeddings {
  readonly chosen: ChosenModel
  readonly format: EmbeddingFormat
  readonly baseUrl: string
  readonly model: string
  /** 0: the default of the model. */
  readonly dims: number
}

interface EmbeddingSources {
  readonly config: Config
  readonly environment: Environment
  readonly choose: (selection: ModelSelection) => Result<ChosenModel, ModelChoiceFailure>
}

const OLLAMA_ADDRESS = "http://127.0.0.1:11434"
const OLLAMA_PORT = "11434"

const DEFAULT_MODELS: Readonly<Record<string, string>> = {
  "openai-api": "text-embedding-3-small",
  gemini: "gemini-embedding-001",
}
const OLLAMA_MODEL = "nomic-embed-text"

/** The providers that `auto` tries, in order; then the local server of the main model. */
const AUTOMATIC: readonly string[] = ["openai-api", "gemini"]

/** Resolves `memory.semantic`. The failure is a sentence that says what to set. Makes no request. */
export function chooseEmbeddings(sources: EmbeddingSources): Result<ChosenEmbeddings> {
  const { config } = sources
  const named = config.get("memory.semantic.provider").trim()
  if (named === "ollama") return ofOllama(sources)
  if (named !== "" && named !== "auto") return ofProvider(named, sources)
  for (const provider of AUTOMATIC) {
    const found = ofProvider(provider, sources)
    if (found.ok) return found
  }
  const server = config.get("model.base_url").trim()
  if (isOllama(server)) return ofOllama(sources)
  if (server !== "" && isLocalAddress(server)) return ofProvider("custom", sources)
  return fail(
    "no provider of embeddings is configured: set OPENAI_API_KEY or GEMINI_API_KEY, or memory.semantic.provider to ollama or to a provider with an /embeddings endpoint",
  )
}

function ofProvider(provider: string, { config, choose }: EmbeddingSources): Result<ChosenEmbeddings> {
  const named = config.get("memory.semantic.model").trim()
  const chosen = choose({ provider, model: named === "" ? UNNAMED : named })
  if (!chosen.ok) return fail(chosen.error.message)
  const { runtime } = chosen.value
  const model = named === "" ? DEFAULT_MODELS[runtime.provider] : runtime.model
  if (model === undefined) return fail(`memory.semantic.model is empty, and ${provider} has no default; set it`)
  const format = formatOf(runtime)
  if (format === undefined)
    return fail(`${provider} has no embeddings; set memory.semantic.provider to another provider`)
  const dims = config.get("memory.semantic.dims")
  return ok({ chosen: chosen.value, format, baseUrl: runtime.baseUrl, model, dims })
}

/** Stands for the model until the provider, and with it its default, is known. */
const UNNAMED = "embeddings"

function formatOf({ wire, provider, baseUrl }: ModelRuntime): EmbeddingFormat | undefined {
  // The Gemini API also has an OpenAI-compatible path. A proxy for it may have any host.
  if (wire === "gemini_native" || (provider === "gemini" && !/\/openai\/*$/u.test(baseUrl))) return GEMINI_EMBEDDINGS
  return wire === "chat_completions" || wire === "codex_responses" ? OPENAI_EMBEDDINGS : undefined
}

/** Ollama has its own format, which truncates texts that are too long instead of refusing them. */
function ofOllama({ config, environment, choose }: EmbeddingSources): Result<ChosenEmbeddings> {
  const server = config.get("model.base_url").trim()
  const address = ollamaHost(environment) ?? (isOllama(server) ? server : OLLAMA_ADDRESS)
  const model = config.get("memory.semantic.model").trim() || OLLAMA_MODEL
  const chosen = choose({ provider: "custom", model, baseUrl: address })
  if (!chosen.ok) return fail(chosen.error.message)
  const baseUrl = address.replace(/\/+$/u, "").replace(/\/v1$/u, "")
  return ok({
    chosen: chosen.value,
    format: OLLAMA_EMBEDDINGS,
    baseUrl,
    model,
    dims: config.get("memory.semantic.dims"),
  })
}

function isOllama(address: string): boolean {
  return isLocalAddress(address) && URL.parse(address)?.port === OLLAMA_PORT
}
