import { isRecord } from "../base/json.ts"

/** Environment variables with a provider's API key, as its documentation names them. */
export const PROVIDER_KEY_VARIABLES: readonly string[] = [
  "OPENROUTER_API_KEY",
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "OPENAI_API_KEY",
  "NOUS_API_KEY",
  "GOOGLE_API_KEY",
  "GEMINI_API_KEY",
  "DEEPSEEK_API_KEY",
  "XAI_API_KEY",
  "GLM_API_KEY",
  "ZAI_API_KEY",
  "Z_AI_API_KEY",
  "KIMI_API_KEY",
  "KIMI_CODING_API_KEY",
  "KIMI_CN_API_KEY",
  "MINIMAX_API_KEY",
  "MINIMAX_CN_API_KEY",
  "DASHSCOPE_API_KEY",
  "QWEN_API_KEY",
  "ALIBABA_CODING_PLAN_API_KEY",
  "NVIDIA_API_KEY",
  "HF_TOKEN",
  "COPILOT_GITHUB_TOKEN",
  "GH_TOKEN",
  "GITHUB_TOKEN",
  "OLLAMA_API_KEY",
  "NOVITA_API_KEY",
  "GMI_API_KEY",
  "KILOCODE_API_KEY",
  "ARCEEAI_API_KEY",
  "STEPFUN_API_KEY",
  "XIAOMI_API_KEY",
  "TOKENHUB_API_KEY",
  "OPENCODE_ZEN_API_KEY",
  "OPENCODE_GO_API_KEY",
  "MISTRAL_API_KEY",
  "GROQ_API_KEY",
  "CEREBRAS_API_KEY",
  "TOGETHER_API_KEY",
  "TOGETHERAI_API_KEY",
  "FIREWORKS_API_KEY",
  "BASETEN_API_KEY",
  "DEEPINFRA_API_KEY",
  "DEEPINFRA_TOKEN",
  "SAMBANOVA_API_KEY",
  "NEBIUS_API_KEY",
  "HYPERBOLIC_API_KEY",
  "SILICONFLOW_API_KEY",
  "CHUTES_API_KEY",
  "VENICE_API_KEY",
  "COHERE_API_KEY",
  "PERPLEXITY_API_KEY",
  "AI_GATEWAY_API_KEY",
  "META_API_KEY",
  "AZURE_OPENAI_API_KEY",
  "AZURE_FOUNDRY_API_KEY",
  "LM_API_KEY",
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_BEARER_TOKEN_BEDROCK",
]

/** Keys of the services the tools and chat platforms use. */
const SERVICE_SECRETS: readonly string[] = [
  "API_SERVER_KEY",
  "BRAVE_API_KEY",
  "BROWSERBASE_API_KEY",
  "BROWSER_USE_API_KEY",
  "BWS_ACCESS_TOKEN",
  "DISCORD_BOT_TOKEN",
  "ELEVENLABS_API_KEY",
  "EMAIL_PASSWORD",
  "EXA_API_KEY",
  "FAL_KEY",
  "FIRECRAWL_API_KEY",
  "GATEWAY_PROXY_KEY",
  "HASS_TOKEN",
  "HERMES_DATABASE_URL",
  "HONCHO_API_KEY",
  "IRC_PASSWORD",
  "MATRIX_ACCESS_TOKEN",
  "MATRIX_PASSWORD",
  "MATTERMOST_TOKEN",
  "PARALLEL_API_KEY",
  "SLACK_APP_TOKEN",
  "SLACK_BOT_TOKEN",
  "SUDO_PASSWORD",
  "TAVILY_API_KEY",
  "TELEGRAM_BOT_TOKEN",
  "TWILIO_AUTH_TOKEN",
  "VOICE_TOOLS_OPENAI_KEY",
  "WEBHOOK_SECRET",
]

const ADDRESSES: readonly string[] = [
  "ANTHROPIC_BASE_URL",
  "AZURE_FOUNDRY_BASE_URL",
  "AZURE_OPENAI_BASE_URL",
  "AZURE_OPENAI_ENDPOINT",
  "CEREBRAS_BASE_URL",
  "DASHSCOPE_BASE_URL",
  "DEEPSEEK_BASE_URL",
  "FIRECRAWL_API_URL",
  "FIREWORKS_BASE_URL",
  "GATEWAY_PROXY_URL",
  "GEMINI_BASE_URL",
  "GLM_BASE_URL",
  "GROQ_BASE_URL",
  "HF_BASE_URL",
  "KIMI_BASE_URL",
  "LM_BASE_URL",
  "MINIMAX_BASE_URL",
  "MINIMAX_CN_BASE_URL",
  "MISTRAL_BASE_URL",
  "NOUS_BASE_URL",
  "NVIDIA_BASE_URL",
  "OLLAMA_BASE_URL",
  "OLLAMA_HOST",
  "OPENAI_BASE_URL",
  "OPENROUTER_BASE_URL",
  "TOGETHER_BASE_URL",
  "VERTEX_BASE_URL",
  "XAI_BASE_URL",
  "ZAI_BASE_URL",
]

/** Names that Hermes itself writes to `.env`; only these are recognised when a damaged line is split. */
export const KNOWN_DOTENV_NAMES: readonly string[] = [...PROVIDER_KEY_VARIABLES, ...SERVICE_SECRETS, ...ADDRESSES]

/** The variable that `config set NAME` stores in `.env`, or undefined when NAME is a setting. */
export function secretVariable(given: string): string | undefined {
  const name = given.toUpperCase()
  return /^[A-Z_][A-Z0-9_]*$/.test(name) && isSecretVariable(name) ? name : undefined
}

function isSecretVariable(name: string): boolean {
  if (/_(?:API_KEY|TOKEN)$/.test(name) || name.startsWith("TERMINAL_SSH")) return true
  return isListedSecret(name)
}

function isListedSecret(name: string): boolean {
  return PROVIDER_KEY_VARIABLES.includes(name) || SERVICE_SECRETS.includes(name)
}

/** Whether a key of a mapping, such as `api_key` or `GITHUB_TOKEN`, usually holds a secret. */
export function isSecretKey(key: string): boolean {
  return (
    /(?:^|[_-])(?:(?:api|access|account|private|secret)[_-]?keys?|token|secret|password|passwd|passphrase|authorization)$/i.test(
      key,
    ) ||
    key === "apiKey" ||
    // Keys whose names do not say so, for example FAL_KEY. An id is public, and of an address only the password is secret.
    (isListedSecret(key) && !/_(?:ID|URL)$/.test(key))
  )
}

/** Whether the HTTP header of that name usually carries a secret. */
export function isSecretHeader(name: string): boolean {
  return /(?:^|[_-])(?:key|token|secret|password|auth|authorization|cookie|credentials?|signature)$/i.test(name)
}

/** Whether the mapping under that key holds HTTP headers. */
export function holdsHeaders(key: string): boolean {
  return /(?:^|_)headers$/i.test(key)
}

/** The secret values in a settings tree: those under a secret key, and passwords in URLs. */
export function secretValuesIn(value: unknown, key = "", isHeader = false): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => secretValuesIn(item, key, isHeader))
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([name, inner]) => secretValuesIn(inner, name, holdsHeaders(key)))
  }
  // `${VAR}` is not a secret; its value comes from the environment.
  if (typeof value !== "string" || value.includes("${")) return []
  return isSecretKey(key) || (isHeader && isSecretHeader(key)) ? [value] : addressPasswords(value)
}

/** The passwords in URLs (`https://user:password@host`), both as written and percent-decoded. */
export function addressPasswords(text: string): readonly string[] {
  return [...text.matchAll(ADDRESS_PASSWORD)].flatMap(([, , password = ""]) => {
    try {
      return [password, decodeURIComponent(password)]
    } catch {
      // A stray percent sign: only the written form exists.
      return [password]
    }
  })
}

export function maskAddressPasswords(text: string): string {
  return text.replaceAll(ADDRESS_PASSWORD, "$1***@")
}

const ADDRESS_PASSWORD = /(?<![A-Za-z0-9])([a-z][a-z0-9+.-]{1,16}:\/\/[^\s:@/]{0,256}:)([^\s@/]{1,512})@/gi

/** A copy for display: masks every value under a key that usually holds a secret. */
export function maskSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskSecrets)
  if (!isRecord(value)) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
    key,
    isSecretKey(key) ? maskTexts(inner) : maskSecrets(inner),
  ])
  return Object.fromEntries(entries)
}

/** A list of keys, such as `api_keys`, is as secret as one. */
function maskTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskTexts)
  return typeof value === "string" && value !== "" ? maskSecret(value) : maskSecrets(value)
}

/** The masked form of a secret: enough to recognise it, not enough to use it. */
export function maskSecret(secret: string): string {
  const characters = Array.from(secret)
  if (characters.length < 12) return "***"
  return `${characters.slice(0, 4).join("")}...${characters.slice(-4).join("")}`
}
