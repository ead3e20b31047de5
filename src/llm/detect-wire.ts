import type { WireName } from "./model.ts"

export interface WireDetectionInput {
  /** The `api_mode` setting; empty or `auto` means to detect the wire. */
  readonly apiMode?: string
  readonly provider?: string
  readonly baseUrl: string
  readonly model: string
}

export interface DetectedWire {
  readonly wire: WireName
  /** The Responses wire was only assumed: on a 404 the server is taken to support Chat Completions. */
  readonly assumed: boolean
}

/** Returns the wire for a model: from the settings, else from provider, address and model family. The first match wins. */
export function detectWire(input: WireDetectionInput): DetectedWire {
  const explicit = HTTP_WIRES.find((wire) => wire === input.apiMode)
  if (explicit !== undefined) return { wire: explicit, assumed: false }
  const facts = factsOf(input)
  const found = TABLE.find(({ when }) => when(facts))
  if (found !== undefined) return { wire: found.wire, assumed: false }
  const assumed = isResponsesModel(facts)
  return { wire: assumed ? "codex_responses" : "chat_completions", assumed }
}

/** True for exactly that host or a sub-domain of it; a host that merely contains the name may belong to an attacker. */
export function isHostBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** The model name without its vendor prefix: `gpt-5` of `openai/gpt-5`. */
export function modelTail(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1).toLowerCase()
}

/** The values of the `api_mode` setting. */
export const HTTP_WIRES: readonly WireName[] = [
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
  /** Without trailing slashes. */
  readonly path: string
  readonly tail: string
}

interface Row {
  readonly when: (facts: Facts) => boolean
  readonly wire: WireName
}

const TABLE: readonly Row[] = [
  { when: ({ provider }) => provider === "openai-codex", wire: "codex_responses" },
  { when: ({ provider }) => ["xai", "xai-oauth", "meta"].includes(provider ?? ""), wire: "codex_responses" },
  { when: ({ provider }) => provider === "vertex", wire: "gemini_native" },
  {
    when: ({ provider, host, path }) =>
      provider === undefined && isHostBelow(host, "chatgpt.com") && path.includes("/backend-api/codex"),
    wire: "codex_responses",
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

/** OpenAI itself, and the GPT-5 family at any endpoint: aggregators refuse that family on Chat Completions. */
function isResponsesModel({ provider, scheme, host, tail }: Facts): boolean {
  if (CHAT_ONLY.has(provider ?? "") || scheme === "acp:") return false
  if (isHostBelow(host, "openai.azure.com")) return false
  const copilot = provider === "copilot" || isHostBelow(host, "api.githubcopilot.com")
  if (copilot && tail === "gpt-5-mini") return false
  return isHostBelow(host, "api.openai.com") || tail.startsWith("gpt-5")
}

/** Providers that serve the GPT-5 family on Chat Completions. */
const CHAT_ONLY: ReadonlySet<string> = new Set(["nous", "copilot-acp", "azure-openai", "github-models"])

function factsOf({ provider, baseUrl, model }: WireDetectionInput): Facts {
  const url = URL.parse(baseUrl)
  return {
    provider: provider === "" || provider === "auto" ? undefined : provider,
    scheme: url?.protocol ?? "",
    host: url?.hostname.toLowerCase() ?? "",
    path: url?.pathname.replace(/\/+$/, "") ?? "",
    tail: modelTail(model),
  }
}
