import type { WireName } from "./model.ts"

/** Who sells a model, and how it is spoken to. One line each; everything else about providers is derived from this table. */
export interface Provider {
  readonly id: string
  readonly aliases: readonly string[]
  readonly name: string
  /** Where keys are looked for, in order. */
  readonly keyVariables: readonly string[]
  /** Overrides the address. */
  readonly baseUrlVariable?: string
  readonly baseUrl: string
  readonly wire: WireName
  readonly defaultModel: string
  /** A server without a key is normal. */
  readonly keyOptional?: boolean
}

const CHAT: WireName = "chat_completions"

/** Any other server of the Chat Completions wire, known by its address alone. */
export const CUSTOM_PROVIDER: Provider = {
  ...provider("custom", "an OpenAI-compatible server", ["OPENAI_API_KEY"], "", CHAT, "", [
    "ollama",
    "local",
    "vllm",
    "llamacpp",
    "llama.cpp",
  ]),
  baseUrlVariable: "OPENAI_BASE_URL",
  keyOptional: true,
}

export const PROVIDERS: readonly Provider[] = [
  provider(
    "openrouter",
    "OpenRouter",
    ["OPENROUTER_API_KEY"],
    "https://openrouter.ai/api/v1",
    CHAT,
    "anthropic/claude-sonnet-4.5",
    ["or"],
  ),
  {
    ...provider("openai-api", "OpenAI", ["OPENAI_API_KEY"], "https://api.openai.com/v1", CHAT, "gpt-4.1", ["openai"]),
    baseUrlVariable: "OPENAI_BASE_URL",
  },
  provider(
    "anthropic",
    "Anthropic",
    ["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN"],
    "https://api.anthropic.com",
    "anthropic_messages",
    "claude-sonnet-4-5",
    ["claude"],
  ),
  provider(
    "gemini",
    "Google Gemini",
    ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    "https://generativelanguage.googleapis.com/v1beta",
    "gemini_native",
    "gemini-2.5-pro",
    ["google"],
  ),
  provider("deepseek", "DeepSeek", ["DEEPSEEK_API_KEY"], "https://api.deepseek.com/v1", CHAT, "deepseek-chat"),
  provider("xai", "xAI", ["XAI_API_KEY"], "https://api.x.ai/v1", "codex_responses", "grok-4", ["grok", "x-ai"]),
  provider(
    "zai",
    "Z.AI",
    ["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"],
    "https://api.z.ai/api/paas/v4",
    CHAT,
    "glm-4.6",
    ["glm", "zhipu"],
  ),
  provider(
    "kimi-coding",
    "Moonshot Kimi",
    ["KIMI_API_KEY", "KIMI_CODING_API_KEY"],
    "https://api.moonshot.ai/v1",
    CHAT,
    "kimi-k2",
    ["kimi", "moonshot"],
  ),
  provider(
    "minimax",
    "MiniMax",
    ["MINIMAX_API_KEY"],
    "https://api.minimax.io/anthropic",
    "anthropic_messages",
    "MiniMax-M2",
  ),
  provider("ollama-cloud", "Ollama Cloud", ["OLLAMA_API_KEY"], "https://ollama.com/v1", CHAT, "gpt-oss:120b"),
  provider(
    "nous",
    "Nous Portal",
    ["NOUS_API_KEY"],
    "https://inference-api.nousresearch.com/v1",
    CHAT,
    "Hermes-4-405B",
    ["nous-portal"],
  ),
  {
    ...provider("lmstudio", "LM Studio", ["LM_API_KEY"], "http://127.0.0.1:1234/v1", CHAT, "", ["lm-studio"]),
    baseUrlVariable: "LM_BASE_URL",
    keyOptional: true,
  },
  CUSTOM_PROVIDER,
]

function provider(
  id: string,
  name: string,
  keyVariables: readonly string[],
  baseUrl: string,
  wire: WireName,
  defaultModel: string,
  aliases: readonly string[] = [],
): Provider {
  return { id, name, keyVariables, baseUrl, wire, defaultModel, aliases }
}

export function findProvider(nameOrAlias: string): Provider | undefined {
  const wanted = nameOrAlias.trim().toLowerCase()
  return PROVIDERS.find(({ id, aliases }) => id === wanted || aliases.includes(wanted))
}
