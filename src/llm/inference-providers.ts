import type { Provider } from "./provider.ts"

/** Services with an OpenAI-compatible API that differ only in address and key: most host models of several vendors. */
export const INFERENCE_PROVIDERS: readonly Provider[] = [
  {
    ...entry("groq", "Groq", "https://api.groq.com/openai/v1"),
    keyVariables: ["GROQ_API_KEY"],
    baseUrlVariable: "GROQ_BASE_URL",
    defaultModel: "openai/gpt-oss-120b",
    signupUrl: "https://console.groq.com/keys",
  },
  {
    ...entry("cerebras", "Cerebras", "https://api.cerebras.ai/v1"),
    keyVariables: ["CEREBRAS_API_KEY"],
    baseUrlVariable: "CEREBRAS_BASE_URL",
    defaultModel: "gpt-oss-120b",
    signupUrl: "https://cloud.cerebras.ai",
  },
  {
    ...entry("sambanova", "SambaNova", "https://api.sambanova.ai/v1"),
    aliases: ["samba-nova"],
    keyVariables: ["SAMBANOVA_API_KEY"],
    defaultModel: "gpt-oss-120b",
    signupUrl: "https://cloud.sambanova.ai/apis",
  },
  {
    ...entry("together", "Together AI", "https://api.together.ai/v1"),
    aliases: ["togetherai", "together-ai"],
    keyVariables: ["TOGETHER_API_KEY", "TOGETHERAI_API_KEY"],
    baseUrlVariable: "TOGETHER_BASE_URL",
    defaultModel: "zai-org/GLM-5.3",
    signupUrl: "https://api.together.ai/settings/api-keys",
  },
  {
    ...entry("fireworks", "Fireworks AI", "https://api.fireworks.ai/inference/v1"),
    aliases: ["fireworks-ai"],
    keyVariables: ["FIREWORKS_API_KEY"],
    baseUrlVariable: "FIREWORKS_BASE_URL",
    defaultModel: "accounts/fireworks/models/glm-5p3",
    signupUrl: "https://app.fireworks.ai/settings/users/api-keys",
  },
  {
    ...entry("baseten", "Baseten", "https://inference.baseten.co/v1"),
    keyVariables: ["BASETEN_API_KEY"],
    defaultModel: "zai-org/GLM-5.3",
    signupUrl: "https://app.baseten.co/settings/api_keys",
  },
  {
    ...entry("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai"),
    aliases: ["deep-infra"],
    keyVariables: ["DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"],
    defaultModel: "openai/gpt-oss-120b",
    signupUrl: "https://deepinfra.com/dash/api_keys",
  },
  {
    ...entry("nebius", "Nebius Token Factory", "https://api.tokenfactory.nebius.com/v1"),
    keyVariables: ["NEBIUS_API_KEY"],
    defaultModel: "openai/gpt-oss-120b",
    signupUrl: "https://tokenfactory.nebius.com",
  },
  {
    ...entry("hyperbolic", "Hyperbolic", "https://api.hyperbolic.xyz/v1"),
    keyVariables: ["HYPERBOLIC_API_KEY"],
    defaultModel: "openai/gpt-oss-120b",
    signupUrl: "https://app.hyperbolic.ai/settings",
  },
  {
    ...entry("siliconflow", "SiliconFlow", "https://api.siliconflow.com/v1"),
    keyVariables: ["SILICONFLOW_API_KEY"],
    signupUrl: "https://cloud.siliconflow.com/account/ak",
  },
  {
    ...entry("chutes", "Chutes", "https://llm.chutes.ai/v1"),
    keyVariables: ["CHUTES_API_KEY"],
    signupUrl: "https://chutes.ai",
  },
  {
    ...entry("venice", "Venice", "https://api.venice.ai/api/v1"),
    keyVariables: ["VENICE_API_KEY"],
    signupUrl: "https://venice.ai/settings/api",
  },
  {
    ...entry("cohere", "Cohere", "https://api.cohere.ai/compatibility/v1"),
    keyVariables: ["COHERE_API_KEY"],
    defaultModel: "command-a-03-2025",
    vendor: "cohere",
    signupUrl: "https://dashboard.cohere.com/api-keys",
  },
  {
    ...entry("perplexity", "Perplexity", "https://api.perplexity.ai"),
    aliases: ["pplx"],
    keyVariables: ["PERPLEXITY_API_KEY"],
    defaultModel: "sonar-pro",
    vendor: "perplexity",
    signupUrl: "https://www.perplexity.ai/settings/api",
  },
  {
    ...entry("vercel-ai-gateway", "Vercel AI Gateway", "https://ai-gateway.vercel.sh/v1"),
    aliases: ["vercel", "ai-gateway"],
    keyVariables: ["AI_GATEWAY_API_KEY"],
    defaultModel: "anthropic/claude-sonnet-4.6",
    signupUrl: "https://vercel.com/docs/ai-gateway",
  },
  {
    ...entry("github-models", "GitHub Models", "https://models.github.ai/inference"),
    keyVariables: ["GITHUB_TOKEN", "GH_TOKEN"],
    defaultModel: "openai/gpt-4.1",
    // Many machines have this token for other programs.
    neverAutomatic: true,
    headers: { "x-github-api-version": "2022-11-28" },
    signupUrl: "https://github.com/settings/personal-access-tokens",
  },
]

/** An empty `defaultModel` means that the user has to name a model. */
function entry(id: string, name: string, baseUrl: string) {
  return { id, name, baseUrl, aliases: [], wire: "chat_completions", authType: "api_key", defaultModel: "" } as const
}
