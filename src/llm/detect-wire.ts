import type { WireName } from "./model.ts"

export interface WireQuestion {
  /** What the settings say; empty or `auto` leaves it to the table. */
  readonly apiMode?: string
  readonly provider?: string
  readonly baseUrl: string
  readonly model: string
}

export interface DetectedWire {
  readonly wire: WireName
  /** The provider of the question, or the one the address belongs to. */
  readonly provider?: string
  /** Responses was only assumed: a 404 there means that the server speaks Chat Completions. */
  readonly upgraded: boolean
}

/** Which wire a model is asked over: what the settings say, else provider, address and model family, first match wins. */
export function detectWire(question: WireQuestion): DetectedWire {
  const provider = known(question.provider)
  const named = provider === undefined ? {} : { provider }
  const explicit = HTTP_WIRES.find((wire) => wire === question.apiMode)
  if (explicit !== undefined) return { wire: explicit, ...named, upgraded: false }
  const facts = factsOf(question, provider)
  const found = TABLE.find(({ when }) => when(facts))
  if (found !== undefined) return { wire: found.wire, ...named, ...found.becomes, upgraded: false }
  const upgraded = isResponsesModel(facts)
  return { wire: upgraded ? "codex_responses" : "chat_completions", ...named, upgraded }
}

/** Exactly that host or a sub-domain of it; a host that only contains the name is somebody else's. */
export function isHostBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** The name without the maker in front of it: `gpt-5` of `openai/gpt-5`. */
export function modelTail(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1).toLowerCase()
}

const HTTP_WIRES: readonly WireName[] = [
  "chat_completions",
  "anthropic_messages",
  "codex_responses",
  "bedrock_converse",
  "gemini_native",
]

interface Facts {
  readonly provider: string | undefined
  readonly scheme: string
  readonly host: string
  /** Without slashes at its end. */
  readonly path: string
  readonly tail: string
}

interface Row {
  readonly when: (facts: Facts) => boolean
  readonly wire: WireName
  readonly becomes?: { readonly provider: string }
}

const TABLE: readonly Row[] = [
  { when: ({ provider }) => provider === "openai-codex", wire: "codex_responses" },
  { when: ({ provider }) => provider === "xai" || provider === "xai-oauth", wire: "codex_responses" },
  {
    when: ({ provider, host, path }) =>
      provider === undefined && isHostBelow(host, "chatgpt.com") && path.includes("/backend-api/codex"),
    wire: "codex_responses",
    becomes: { provider: "openai-codex" },
  },
  { when: ({ provider, host }) => provider === undefined && isHostBelow(host, "api.x.ai"), wire: "codex_responses" },
  {
    when: ({ provider, host }) => provider === "anthropic" || isHostBelow(host, "api.anthropic.com"),
    wire: "anthropic_messages",
  },
  { when: ({ path }) => path.endsWith("/anthropic"), wire: "anthropic_messages" },
  {
    when: ({ host, path }) => isHostBelow(host, "api.kimi.com") && path.startsWith("/coding"),
    wire: "anthropic_messages",
  },
  {
    when: ({ provider, host }) =>
      provider === "bedrock" || /^bedrock-runtime\.[\w-]+\.amazonaws\.com(\.cn)?$/.test(host),
    wire: "bedrock_converse",
  },
  {
    when: ({ provider, host, path }) =>
      provider === "gemini" && isHostBelow(host, "generativelanguage.googleapis.com") && !path.endsWith("/openai"),
    wire: "gemini_native",
  },
]

/** OpenAI itself, and its GPT-5 family anywhere: aggregators refuse that family on Chat Completions. */
function isResponsesModel({ provider, scheme, host, tail }: Facts): boolean {
  if (provider === "nous" || provider === "copilot-acp" || scheme === "acp:") return false
  if (isHostBelow(host, "openai.azure.com")) return false
  const copilot = provider === "copilot" || isHostBelow(host, "api.githubcopilot.com")
  if (copilot && tail === "gpt-5-mini") return false
  return isHostBelow(host, "api.openai.com") || tail.startsWith("gpt-5")
}

function factsOf({ baseUrl, model }: WireQuestion, provider: string | undefined): Facts {
  const url = URL.parse(baseUrl)
  return {
    provider,
    scheme: url?.protocol ?? "",
    host: url?.hostname.toLowerCase() ?? "",
    path: url?.pathname.replace(/\/+$/, "") ?? "",
    tail: modelTail(model),
  }
}

function known(provider: string | undefined): string | undefined {
  return provider === undefined || provider === "" || provider === "auto" ? undefined : provider
}
