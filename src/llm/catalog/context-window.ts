import { isRecord } from "../../base/json.ts"
import { isLocalAddress } from "../local/local-address.ts"

/** The context window of a model and where the number comes from. */
export interface ContextWindow {
  readonly tokens: number
  readonly source: WindowSource
  /** A warning for the user when the number is a guess that may be too large or too small. */
  readonly warning?: string
}

export type WindowSource =
  | "settings"
  | "configured-provider"
  | "cache"
  | "endpoint"
  | "provider-rule"
  | "catalog"
  | "family"
  | "default"

/** The numbers that different sources give. The caller decides which sources to query; this file decides which to trust. */
export interface WindowFacts {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  /** `model.context_length`. */
  readonly configured?: number | undefined
  /** `providers.<key>.models.<model>.context_length`, or the key's own. */
  readonly configuredProvider?: number | undefined
  /** The entry of `context_length_cache.yaml` for this model and base URL. */
  readonly cached?: number | undefined
  /** What the endpoint itself reports: its model list, or a local server. */
  readonly listed?: number | undefined
  readonly catalog?: number | undefined
}

/** Assumed for an unknown cloud model until an error reports another window. */
const UNKNOWN_CLOUD = 256_000
/** A local server that reports no window truncates silently, so a small guess is safe. */
const UNKNOWN_LOCAL = 8192

export function resolveContextWindow(facts: WindowFacts): ContextWindow {
  const { configured, configuredProvider, listed, catalog } = facts
  if (isWindow(configured)) return { tokens: configured, source: "settings" }
  if (isWindow(configuredProvider)) return { tokens: configuredProvider, source: "configured-provider" }
  const cached = trustedCache(facts)
  if (cached !== undefined) return { tokens: cached, source: "cache" }
  if (isWindow(listed) && !isOldKimiValue(facts.model, listed)) return { tokens: listed, source: "endpoint" }
  const local = isLocalAddress(facts.baseUrl)
  const known = facts.provider !== "openai-codex" && isWindow(catalog) && !local
  return known ? { tokens: catalog, source: "catalog" } : byName(facts.model, { provider: facts.provider, local })
}

/** Derives the window from the provider's rule or the model's family, else guesses. `local`: this machine or its network. */
function byName(
  model: string,
  { provider, local }: { readonly provider: string; readonly local: boolean },
): ContextWindow {
  if (provider === "openai-codex") return { tokens: codexWindow(model), source: "provider-rule" }
  const family = familyOf(model)
  if (family !== undefined && (!local || isHostedOnly(family.name))) return { tokens: family.tokens, source: "family" }
  return local
    ? { tokens: UNKNOWN_LOCAL, source: "default", warning: LOCAL_WARNING }
    : { tokens: UNKNOWN_CLOUD, source: "default" }
}

const LOCAL_WARNING = `The server does not report the context window of the model, so ${UNKNOWN_LOCAL} tokens are assumed. Set it with \`hermes config set model.context_length N\`.`

/** A model with a smaller window works, but a long tool list leaves it little room. */
const SMALL_WINDOW = 64_000

/** Returns a warning when the window is too small for all tools at once. */
export function smallWindowWarning(tokens: number): string | undefined {
  if (tokens >= SMALL_WINDOW) return undefined
  return `The model has a context window of only ${tokens} tokens; enable fewer tools to leave more room, for example \`hermes --toolsets file,terminal\`.`
}

/** Returns the context window in a model list entry; servers use different field names. */
export function windowInMetadata(entry: unknown): number | undefined {
  if (!isRecord(entry)) return undefined
  for (const key of METADATA_KEYS) {
    const value = entry[key]
    const tokens = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value
    if (typeof tokens === "number" && isWindow(tokens) && tokens >= 1024 && tokens <= 10_000_000) return tokens
  }
  return undefined
}

const METADATA_KEYS: readonly string[] = [
  "context_length",
  "context_window",
  "context_size",
  "max_context_length",
  "max_position_embeddings",
  "max_model_len",
  "max_input_tokens",
  "max_sequence_length",
  "max_seq_len",
  "n_ctx_train",
  "n_ctx",
  "ctx_size",
]

function isWindow(tokens: number | undefined): tokens is number {
  return tokens !== undefined && Number.isInteger(tokens) && tokens > 0
}

/** Returns the cached window, unless it is a wrong value that an earlier release is known to have stored. */
function trustedCache({ provider, model, cached }: WindowFacts): number | undefined {
  if (!isWindow(cached)) return undefined
  const name = model.toLowerCase()
  // LM Studio's window changes with every model that is loaded.
  if (provider === "lmstudio") return undefined
  if (provider === "openai-codex" && cached >= 400_000) return undefined
  if (isOldKimiValue(name, cached)) return undefined
  if (name.includes("minimax-m3") && cached <= 204_800) return undefined
  if (name.includes("grok-4.3") && cached <= 256_000) return undefined
  return cached
}

/** Aggregators list 32K for Kimi models that have 256K. */
function isOldKimiValue(model: string, tokens: number): boolean {
  return model.toLowerCase().includes("kimi") && tokens <= 32_768
}

/** The windows of a ChatGPT login, which differ from those of the API. */
function codexWindow(model: string): number {
  return model.toLowerCase().includes("spark") ? 128_000 : 272_000
}

interface Family {
  readonly name: string
  readonly tokens: number
}

function familyOf(model: string): Family | undefined {
  const name = model.toLowerCase()
  let found: Family | undefined
  for (const [key, tokens] of Object.entries(FAMILIES)) {
    if (name.includes(key) && key.length > (found?.name.length ?? 0)) found = { name: key, tokens }
  }
  return found
}

/** The weights of these families are not public, so a local address is a gateway to the vendor and has the vendor's window. */
function isHostedOnly(family: string): boolean {
  return /^(?:claude|gpt-[45]|gemini|grok)/.test(family)
}

const FAMILIES: Readonly<Record<string, number>> = {
  "claude-fable": 1_000_000,
  "claude-opus-4-8": 1_000_000,
  "claude-opus-4.8": 1_000_000,
  "claude-opus-4-7": 1_000_000,
  "claude-opus-4.7": 1_000_000,
  "claude-opus-4-6": 1_000_000,
  "claude-opus-4.6": 1_000_000,
  "claude-sonnet-4-6": 1_000_000,
  "claude-sonnet-4.6": 1_000_000,
  claude: 200_000,
  "gpt-5.5": 1_050_000,
  "gpt-5.4": 1_050_000,
  "gpt-5.4-nano": 400_000,
  "gpt-5.4-mini": 400_000,
  "gpt-5.3-codex-spark": 128_000,
  "gpt-5.1-chat": 128_000,
  "gpt-5": 400_000,
  "gpt-4.1": 1_047_576,
  "gpt-4": 128_000,
  gemini: 1_048_576,
  "gemma-4": 256_000,
  gemma4: 256_000,
  "gemma-3": 131_072,
  gemma: 8192,
  "deepseek-v4-pro": 1_000_000,
  "deepseek-v4-flash": 1_000_000,
  "deepseek-chat": 1_000_000,
  "deepseek-reasoner": 1_000_000,
  deepseek: 128_000,
  llama: 131_072,
  "qwen3.6-plus": 1_048_576,
  "qwen3-coder-plus": 1_000_000,
  "qwen3-coder": 262_144,
  qwen: 131_072,
  "minimax-m3": 1_000_000,
  minimax: 204_800,
  "glm-5.2": 1_048_576,
  glm: 202_752,
  "grok-build": 256_000,
  "grok-code-fast": 256_000,
  "grok-4": 256_000,
  "grok-2-vision": 8192,
  "grok-4-fast": 2_000_000,
  "grok-4.20": 2_000_000,
  "grok-4.3": 1_000_000,
  "grok-3": 131_072,
  "grok-2": 131_072,
  grok: 131_072,
  kimi: 262_144,
  "hy3-preview": 262_144,
  nemotron: 131_072,
  trinity: 262_144,
  elephant: 262_144,
  "mimo-v2-pro": 1_048_576,
  "mimo-v2.5": 1_048_576,
  "mimo-v2.5-pro": 1_048_576,
  "mimo-v2-omni": 262_144,
  "mimo-v2-flash": 262_144,
}
