import { assertNever } from "../../base/assert-never.ts"
import type { Effort, ModelRequest } from "../model.ts"
import { isKimi, keepsDots } from "./anthropic-places.ts"
import type { WirePlace } from "./wire.ts"

/** The part of the body that is neither tools nor conversation: model, length, thinking, temperature. */
export function anthropicParameters(request: ModelRequest, place: WirePlace): Record<string, unknown> {
  const model = anthropicModelName(request.model, place)
  const asked = maxTokens(model, request.maxOutputTokens)
  const thinking = thinkingOf(request, { model, place })
  const limit = place.contextLength > 1 ? place.contextLength - 1 : Number.POSITIVE_INFINITY
  switch (thinking.kind) {
    case "none":
      return {
        model,
        max_tokens: Math.min(asked, limit),
        ...(request.temperature === undefined || refusesSampling(model) ? {} : { temperature: request.temperature }),
      }
    case "adaptive":
      // Thinking and a temperature of one's own exclude each other.
      return {
        model,
        max_tokens: Math.min(asked, limit),
        thinking: { type: "adaptive", display: "summarized" },
        output_config: { effort: thinking.effort },
      }
    case "budget":
      return {
        model,
        max_tokens: Math.min(Math.max(asked, thinking.tokens + ROOM_TO_ANSWER), limit),
        thinking: { type: "enabled", budget_tokens: thinking.tokens },
        temperature: 1,
      }
    default:
      return assertNever(thinking)
  }
}

export function anthropicModelName(model: string, place: WirePlace): string {
  const name = model.startsWith("anthropic/") ? model.slice("anthropic/".length) : model
  return name.startsWith("claude-") && !keepsDots(place) ? name.replaceAll(".", "-") : name
}

/** This wire demands a limit. One that is no positive whole number counts as none, also when it comes as text. */
export function maxTokens(model: string, asked: unknown): number {
  const wanted = typeof asked === "string" ? Number(asked) : asked
  if (typeof wanted === "number" && Number.isSafeInteger(wanted) && wanted > 0) return wanted
  const name = dashed(model)
  const known = MAX_TOKENS.filter(([part]) => name.includes(part)).toSorted(([a], [b]) => b.length - a.length)
  return known[0]?.[1] ?? 128_000
}

const MAX_TOKENS: readonly (readonly [string, number])[] = [
  ["claude-fable", 128_000],
  ["opus-4-8", 128_000],
  ["opus-4-7", 128_000],
  ["opus-4-6", 128_000],
  ["sonnet-4-6", 64_000],
  ["opus-4-5", 64_000],
  ["sonnet-4-5", 64_000],
  ["haiku-4-5", 64_000],
  ["sonnet-4", 64_000],
  ["opus-4", 32_000],
  ["3-7-sonnet", 128_000],
  ["3-5-sonnet", 8192],
  ["3-5-haiku", 8192],
  ["3-opus", 4096],
  ["3-sonnet", 4096],
  ["3-haiku", 4096],
  ["minimax", 131_072],
  ["qwen3", 65_536],
]

export type Thinking =
  | { readonly kind: "none" }
  | { readonly kind: "adaptive"; readonly effort: string }
  | { readonly kind: "budget"; readonly tokens: number }

/** What an answer gets beside the thoughts before it. */
export const ROOM_TO_ANSWER = 4096

function thinkingOf(
  request: ModelRequest,
  { model, place }: { readonly model: string; readonly place: WirePlace },
): Thinking {
  // Kimi decides by itself and answers a thinking parameter with an error.
  return isKimi(place) ? { kind: "none" } : thinkingFor(request, { model, contextLength: place.contextLength })
}

/** How a model of this wire's family is told to think, wherever it is hosted. */
export function thinkingFor(
  request: Pick<ModelRequest, "effort" | "toolChoice">,
  { model, contextLength }: { readonly model: string; readonly contextLength: number },
): Thinking {
  const { effort } = request
  if (effort === undefined || effort === "none" || /haiku/i.test(model)) return { kind: "none" }
  // A model that is made to call a tool may not think first; the server refuses both together.
  if (request.toolChoice === "required") return { kind: "none" }
  const version = claudeVersion(model)
  // Budgets came first: older Claudes and the other makers' models know nothing else.
  if (version === undefined || version < 406) {
    const tokens = BUDGETS[effort]
    const fits = contextLength <= 1 || tokens + ROOM_TO_ANSWER < contextLength
    return fits ? { kind: "budget", tokens } : { kind: "none" }
  }
  return { kind: "adaptive", effort: effort === "xhigh" && version < 407 ? "max" : EFFORTS[effort] }
}

const BUDGETS: Record<Exclude<Effort, "none">, number> = {
  minimal: 4000,
  low: 4000,
  medium: 8000,
  high: 16_000,
  xhigh: 32_000,
}

const EFFORTS: Record<Exclude<Effort, "none">, string> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
}

/** Claude 4.7 and later take no temperature, top_p or top_k. */
function refusesSampling(model: string): boolean {
  return (claudeVersion(model) ?? 0) >= 407
}

/**
 * 406 for `claude-opus-4-6`; a Claude without a number is taken as the newest, another model has none. Dates (`-20250514`)
 * are no minor versions.
 */
export function claudeVersion(model: string): number | undefined {
  const name = dashed(model)
  if (!name.includes("claude")) return undefined
  const [, major, minor] = /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?/.exec(name) ?? []
  return major === undefined ? Number.POSITIVE_INFINITY : Number(major) * 100 + Number(minor ?? 0)
}

function dashed(model: string): string {
  return model.toLowerCase().replaceAll(".", "-")
}
