import { modelTail } from "../detect-wire.ts"
import type { Effort, ModelRequest } from "../model.ts"
import { maxTokens } from "./anthropic-parameters.ts"
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
} from "./chat-places.ts"
import type { WirePlace } from "./wire.ts"

/** What one provider wants beside the common request and beside what the table of providers says about it. */
interface ChatExtras {
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  /** The output cap when nobody asked for one; absent sends none. */
  readonly maxTokens?: number
}

/** The person's wishes for OpenRouter (`provider_routing`, `openrouter.*`). */
export interface OpenRouterSettings {
  readonly routing?: Readonly<Record<string, unknown>>
  readonly minCodingScore?: number
  /** Seconds; absent switches the answer cache off. */
  readonly responseCacheTtl?: number
}

export function chatExtras(
  request: ModelRequest,
  place: WirePlace,
  settings: { readonly openRouter?: OpenRouterSettings },
): ChatExtras {
  const profile = PROFILES.find(({ applies }) => applies(place))
  return profile === undefined ? NOTHING : profile.extras({ request, place, openRouter: settings.openRouter ?? {} })
}

/** Some models fix their temperature; undefined sends none. */
export function chatTemperature(request: ModelRequest, place: WirePlace): number | undefined {
  if (isMoonshot(place) || isMoonshotModel(request.model)) return undefined
  return modelTail(request.model) === "trinity-large-thinking" ? 0.5 : request.temperature
}

const NOTHING: ChatExtras = { body: {}, headers: {} }

interface Question {
  readonly request: ModelRequest
  readonly place: WirePlace
  readonly openRouter: OpenRouterSettings
}

interface Profile {
  readonly applies: (place: WirePlace) => boolean
  readonly extras: (question: Question) => ChatExtras
}

const PROFILES: readonly Profile[] = [
  { applies: isOpenRouter, extras: openRouterExtras },
  { applies: isNous, extras: nousExtras },
  { applies: isDeepSeek, extras: ({ request }) => ({ ...NOTHING, body: deepSeekThinking(request.effort) }) },
  { applies: isMoonshot, extras: ({ request }) => ({ ...NOTHING, body: kimiThinking(request.effort) }) },
  { applies: isQwenPortal, extras: () => ({ ...NOTHING, body: { vl_high_resolution_images: true } }) },
  { applies: isCopilot, extras: ({ request }) => ({ body: {}, headers: copilotHeaders(request) }) },
  { applies: isOpenAi, extras: ({ request }) => ({ ...NOTHING, body: openAiEffort(request) }) },
  { applies: isCustom, extras: customExtras },
]

function openRouterExtras({ request, openRouter }: Question): ChatExtras {
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
    ...(claude ? { maxTokens: maxTokens(request.model, undefined) } : {}),
  }
}

/** Models that understand the gateway's `reasoning` object. */
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

function nousExtras({ request }: Question): ChatExtras {
  const { model, effort } = request
  return {
    body: {
      tags: ["product=hermes-agent"],
      ...(effort === "none" ? {} : { reasoning: { enabled: true, effort: effort ?? "medium" } }),
    },
    headers: {},
    ...(isClaude(model) ? { maxTokens: maxTokens(model, undefined) } : {}),
  }
}

function deepSeekThinking(effort: Effort | undefined): Readonly<Record<string, unknown>> {
  if (effort === undefined) return {}
  if (effort === "none") return { thinking: { type: "disabled" } }
  return { thinking: { type: "enabled" }, reasoning_effort: effort === "xhigh" ? "max" : atLeastLow(effort) }
}

/** The two ways to say it exclude each other here. */
function kimiThinking(effort: Effort | undefined): Readonly<Record<string, unknown>> {
  if (effort === undefined) return {}
  return effort === "none" ? { thinking: { type: "disabled" } } : { reasoning_effort: lowToHigh(effort) }
}

function openAiEffort({ model, effort }: ModelRequest): Readonly<Record<string, unknown>> {
  const thinks = /^(gpt-5|o1|o3|o4)/.test(modelTail(model))
  return !thinks || effort === undefined || effort === "none" ? {} : { reasoning_effort: lowToHigh(effort) }
}

/** The first request of a turn was asked for by a person; the ones after tool results were not. */
function copilotHeaders(request: ModelRequest): Readonly<Record<string, string>> {
  return {
    "editor-version": "hermes-agent/1",
    "x-initiator": request.messages.at(-1)?.role === "user" ? "user" : "agent",
  }
}

const OLLAMA_PORT = "11434"

function customExtras({ request, place }: Question): ChatExtras {
  const ollama = URL.parse(place.baseUrl)?.port === OLLAMA_PORT
  return {
    ...NOTHING,
    body: {
      ...(ollama ? { options: { num_ctx: place.contextLength } } : {}),
      ...(request.effort === "none" ? { think: false } : {}),
    },
  }
}

function isClaude(model: string): boolean {
  return model.toLowerCase().includes("claude")
}

/** Claude 4.6 and later; a date after the version (`claude-sonnet-4-20250514`) is no minor version. */
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
