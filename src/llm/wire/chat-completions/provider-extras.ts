import { modelTail } from "../../detect-wire.ts"
import type { Effort, ModelRequest } from "../../model.ts"
import { maxOutputTokens } from "../anthropic-messages/parameters.ts"
import {
  isCopilot,
  isCustom,
  isDeepSeek,
  isMoonshot,
  isMoonshotModel,
  isNous,
  isOpenAi,
  isOpenRouter,
  isQwenPortal,
} from "./endpoint-traits.ts"
import type { WireEndpoint } from "../wire.ts"

/** What one provider adds to the common request, in addition to its entry in the provider table. */
interface ChatExtras {
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  /** The output limit for a request without one; absent sends no limit. */
  readonly maxTokens?: number
}

/** The user's settings for OpenRouter (`provider_routing`, `openrouter.*`). */
export interface OpenRouterSettings {
  readonly routing?: Readonly<Record<string, unknown>>
  readonly minCodingScore?: number
  /** Seconds; absent disables the response cache. */
  readonly responseCacheTtl?: number
}

export function chatExtras(
  request: ModelRequest,
  endpoint: WireEndpoint,
  settings: { readonly openRouter?: OpenRouterSettings },
): ChatExtras {
  const profile = PROFILES.find(({ applies }) => applies(endpoint))
  return profile === undefined
    ? NO_EXTRAS
    : profile.extras({ request, endpoint, openRouter: settings.openRouter ?? {} })
}

/** Some models require a fixed temperature; undefined sends none. */
export function chatTemperature(request: ModelRequest, endpoint: WireEndpoint): number | undefined {
  if (isMoonshot(endpoint) || isMoonshotModel(request.model)) return undefined
  return modelTail(request.model) === "trinity-large-thinking" ? 0.5 : request.temperature
}

const NO_EXTRAS: ChatExtras = { body: {}, headers: {} }

interface ExtrasInput {
  readonly request: ModelRequest
  readonly endpoint: WireEndpoint
  readonly openRouter: OpenRouterSettings
}

interface Profile {
  readonly applies: (endpoint: WireEndpoint) => boolean
  readonly extras: (input: ExtrasInput) => ChatExtras
}

const PROFILES: readonly Profile[] = [
  { applies: isOpenRouter, extras: openRouterExtras },
  { applies: isNous, extras: nousExtras },
  { applies: isDeepSeek, extras: ({ request }) => ({ ...NO_EXTRAS, body: deepSeekThinking(request.effort) }) },
  { applies: isMoonshot, extras: ({ request }) => ({ ...NO_EXTRAS, body: kimiThinking(request.effort) }) },
  { applies: isQwenPortal, extras: () => ({ ...NO_EXTRAS, body: { vl_high_resolution_images: true } }) },
  { applies: isCopilot, extras: ({ request }) => ({ body: {}, headers: copilotHeaders(request) }) },
  { applies: isOpenAi, extras: ({ request }) => ({ ...NO_EXTRAS, body: openAiEffort(request) }) },
  { applies: isCustom, extras: customExtras },
]

function openRouterExtras({ request, openRouter }: ExtrasInput): ChatExtras {
  const { routing, minCodingScore, responseCacheTtl } = openRouter
  const claude = isClaude(request.model)
  return {
    body: {
      ...(routing === undefined || Object.keys(routing).length === 0 ? {} : { provider: routing }),
      ...(request.model === "openrouter/pareto-code" && minCodingScore !== undefined
        ? { plugins: [{ id: "pareto-router", min_coding_score: minCodingScore }] }
        : {}),
      ...openRouterReasoning(request),
    },
    headers: {
      ...(responseCacheTtl === undefined
        ? {}
        : { "x-openrouter-cache": "true", "x-openrouter-cache-ttl": String(responseCacheTtl) }),
      ...(claude ? { "x-anthropic-beta": "fine-grained-tool-streaming-2025-05-14" } : {}),
    },
    ...(claude ? { maxTokens: maxOutputTokens(request.model, undefined) } : {}),
  }
}

/** Model families that support OpenRouter's `reasoning` object. */
const REASONING_FAMILIES = [
  "deepseek/",
  "anthropic/",
  "openai/",
  "x-ai/",
  "google/gemini-2",
  "google/gemma-4",
  "qwen/qwen3",
  "tencent/hy3-preview",
  "xiaomi/",
]

function openRouterReasoning({ model, effort }: ModelRequest): Readonly<Record<string, unknown>> {
  if (reasonsAlways(model)) return effort === undefined || effort === "none" ? {} : { verbosity: atLeastLow(effort) }
  const name = model.toLowerCase()
  if (!REASONING_FAMILIES.some((family) => name.startsWith(family))) return {}
  return { reasoning: effort === "none" ? { enabled: false } : { enabled: true, effort: effort ?? "medium" } }
}

function nousExtras({ request }: ExtrasInput): ChatExtras {
  const { model, effort } = request
  return {
    body: {
      tags: ["product=hermes-agent"],
      ...(effort === "none" ? {} : { reasoning: { enabled: true, effort: effort ?? "medium" } }),
    },
    headers: {},
    ...(isClaude(model) ? { maxTokens: maxOutputTokens(model, undefined) } : {}),
  }
}

function deepSeekThinking(effort: Effort | undefined): Readonly<Record<string, unknown>> {
  if (effort === undefined) return {}
  if (effort === "none") return { thinking: { type: "disabled" } }
  return { thinking: { type: "enabled" }, reasoning_effort: effort === "xhigh" ? "max" : atLeastLow(effort) }
}

/** Kimi rejects `thinking` and `reasoning_effort` together. */
function kimiThinking(effort: Effort | undefined): Readonly<Record<string, unknown>> {
  if (effort === undefined) return {}
  return effort === "none" ? { thinking: { type: "disabled" } } : { reasoning_effort: lowToHigh(effort) }
}

function openAiEffort({ model, effort }: ModelRequest): Readonly<Record<string, unknown>> {
  const thinks = /^(gpt-5|o1|o3|o4)/.test(modelTail(model))
  return !thinks || effort === undefined || effort === "none" ? {} : { reasoning_effort: lowToHigh(effort) }
}

/** `x-initiator` is `user` for the first request of a turn and `agent` for those after tool results. */
function copilotHeaders(request: ModelRequest): Readonly<Record<string, string>> {
  return {
    "editor-version": "hermes-agent/1",
    "x-initiator": request.messages.at(-1)?.role === "user" ? "user" : "agent",
  }
}

const OLLAMA_PORT = "11434"

function customExtras({ request, endpoint }: ExtrasInput): ChatExtras {
  const ollama = URL.parse(endpoint.baseUrl)?.port === OLLAMA_PORT
  return {
    ...NO_EXTRAS,
    body: {
      ...(ollama ? { options: { num_ctx: endpoint.contextLength } } : {}),
      ...(request.effort === "none" ? { think: false } : {}),
    },
  }
}

function isClaude(model: string): boolean {
  return model.toLowerCase().includes("claude")
}

/** Claude 4.6 and later. A date after the version (`claude-sonnet-4-20250514`) is not a minor version. */
function reasonsAlways(model: string): boolean {
  const [, major, minor] = /claude-[a-z]+-(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?/.exec(modelTail(model)) ?? []
  return major !== undefined && Number(major) * 100 + Number(minor ?? 0) >= 406
}

function atLeastLow(effort: Exclude<Effort, "none">): string {
  return effort === "minimal" ? "low" : effort
}

function lowToHigh(effort: Exclude<Effort, "none">): string {
  return effort === "xhigh" ? "high" : atLeastLow(effort)
}
