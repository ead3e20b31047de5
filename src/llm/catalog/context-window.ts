import { isRecord } from "../../base/json.ts"
import { isLocalAddress } from "../local/local-address.ts"

/** How many tokens a model can take in, and how that is known. */
export interface ContextWindow {
  readonly tokens: number
  readonly source: WindowSource
  /** One sentence for the person when the number is a guess that may hurt. */
  readonly warning?: string
}

export type WindowSource =
  | "settings"
  | "own-provider"
  | "cache"
  | "endpoint"
  | "provider-rule"
  | "catalog"
  | "family"
  | "default"

/** Everything that may know the window. Whoever calls asks the network or not; the order of trust is decided here. */
export interface WindowFacts {
  readonly provider: string
  readonly model: string
  readonly baseUrl: string
  /** `model.context_length`. */
  readonly configured?: number | undefined
  /** `providers.<key>.models.<model>.context_length`, or the key's own. */
  readonly ownProvider?: number | undefined
  /** What `context_length_cache.yaml` holds for this model and address. */
  readonly cached?: number | undefined
  /** What the endpoint itself says: its list of models, or a local server. */
  readonly listed?: number | undefined
  readonly catalog?: number | undefined
}

/** An unknown cloud model is taken to have this window until an error says otherwise. */
const UNKNOWN_CLOUD = 256_000
/** A local server that tells nothing cuts silently, so a small guess is the safe one. */
const UNKNOWN_LOCAL = 8192

export function resolveContextWindow(facts: WindowFacts): ContextWindow {
  const { configured, ownProvider, listed, catalog } = facts
  if (isWindow(configured)) return { tokens: configured, source: "settings" }
  if (isWindow(ownProvider)) return { tokens: ownProvider, source: "own-provider" }
  const cached = trustedCache(facts)
  if (cached !== undefined) return { tokens: cached, source: "cache" }
  if (isWindow(listed) && !isOldKimiValue(facts.model, listed)) return { tokens: listed, source: "endpoint" }
  const local = isLocalAddress(facts.baseUrl)
  const known = facts.provider !== "openai-codex" && isWindow(catalog) && !local
  return known ? { tokens: catalog, source: "catalog" } : byName(facts.model, { provider: facts.provider, local })
}

interface NamedPlace {
  readonly provider: string
  /** This machine or one nearby. */
  readonly local: boolean
}

/** The vendor's rule, the model's family, or a guess. */
function byName(model: string, { provider, local }: NamedPlace): ContextWindow {
  if (provider === "openai-codex") return { tokens: codexWindow(model), source: "provider-rule" }
  const family = familyOf(model)
  if (family !== undefined && (!local || isHostedOnly(family.name))) return { tokens: family.tokens, source: "family" }
  return local
    ? { tokens: UNKNOWN_LOCAL, source: "default", warning: LOCAL_WARNING }
    : { tokens: UNKNOWN_CLOUD, source: "default" }
}

const LOCAL_WARNING = `The server does not say how much context the model has, so ${UNKNOWN_LOCAL} tokens are assumed. Set it with \`hermes config set model.context_length N\`.`

/** A model with less than this works, but a long tool list leaves it little room. */
const SMALL_WINDOW = 64_000

/** One sentence when the window is too small for every tool at once. */
export function smallWindowWarning(tokens: number): string | undefined {
  if (tokens >= SMALL_WINDOW) return undefined
  return `The model has room for ${tokens} tokens only; fewer tools leave it more, for example \`hermes --toolsets file,terminal\`.`
}

/** The window in an entry of a list of models, whatever its server calls it. */
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

/** A remembered number, unless it is one that an earlier release is known to have got wrong. */
function trustedCache({ provider, model, cached }: WindowFacts): number | undefined {
  if (!isWindow(cached)) return undefined
  const name = model.toLowerCase()
  // What is loaded in LM Studio changes from one minute to the next.
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

/** What a ChatGPT login gives, whatever the model has elsewhere. */
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

/** Nobody has the weights of these, so a local address with such a name is a way to the vendor, and its window the vendor's. */
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
