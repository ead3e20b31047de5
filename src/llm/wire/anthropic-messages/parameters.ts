import { assertNever } from "../../../base/assert-never.ts"
import type { Effort, ModelRequest } from "../../model.ts"
import { isKimi, keepsDotsInModelNames } from "./endpoint-traits.ts"
import type { WireEndpoint } from "../wire.ts"

/** The body without tools and messages: model, output limit, thinking and temperature. */
export function anthropicParameters(request: ModelRequest, endpoint: WireEndpoint): Record<string, unknown> {
  const model = anthropicModelName(request.model, endpoint)
  const requested = maxOutputTokens(model, request.maxOutputTokens)
  const thinking = thinkingOf(request, { model, endpoint })
  const limit = endpoint.contextLength > 1 ? endpoint.contextLength - 1 : Number.POSITIVE_INFINITY
  switch (thinking.kind) {
    case "none":
      return {
        model,
        max_tokens: Math.min(requested, limit),
        ...(request.temperature === undefined || refusesSampling(model) ? {} : { temperature: request.temperature }),
      }
    case "adaptive":
      // The server rejects a temperature together with adaptive thinking.
      return {
        model,
        max_tokens: Math.min(requested, limit),
        thinking: { type: "adaptive", display: "summarized" },
        output_config: { effort: thinking.effort },
      }
    case "budget":
      return {
        model,
        max_tokens: Math.min(Math.max(requested, thinking.tokens + MIN_ANSWER_TOKENS), limit),
        thinking: { type: "enabled", budget_tokens: thinking.tokens },
        temperature: 1,
      }
    default:
      return assertNever(thinking)
  }
}

export function anthropicModelName(model: string, endpoint: WireEndpoint): string {
  const name = model.startsWith("anthropic/") ? model.slice("anthropic/".length) : model
  return name.startsWith("claude-") && !keepsDotsInModelNames(endpoint) ? name.replaceAll(".", "-") : name
}

/**
 * `max_tokens` is required. A requested limit that is not a positive integer (or its text) falls back to the model's
 * maximum.
 */
export function maxOutputTokens(model: string, requested: unknown): number {
  const limit = typeof requested === "string" ? Number(requested) : requested
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit > 0) return limit
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

/** Whether the request enables thinking with a token budget. */
export function hasThinkingBudget(request: ModelRequest, endpoint: WireEndpoint): boolean {
  return thinkingOf(request, { model: anthropicModelName(request.model, endpoint), endpoint }).kind === "budget"
}

export type ThinkingMode =
  | { readonly kind: "none" }
  | { readonly kind: "adaptive"; readonly effort: string }
  | { readonly kind: "budget"; readonly tokens: number }

/** Tokens reserved for the answer in addition to the thinking budget. */
export const MIN_ANSWER_TOKENS = 4096

function thinkingOf(
  request: ModelRequest,
  { model, endpoint }: { readonly model: string; readonly endpoint: WireEndpoint },
): ThinkingMode {
  // Kimi decides on its own and rejects a thinking parameter.
  return isKimi(endpoint) ? { kind: "none" } : thinkingMode(request, { model, contextLength: endpoint.contextLength })
}

/** The thinking parameters for a model of this family, at any host. */
export function thinkingMode(
  request: Pick<ModelRequest, "effort" | "toolChoice">,
  { model, contextLength }: { readonly model: string; readonly contextLength: number },
): ThinkingMode {
  const { effort } = request
  if (effort === undefined || effort === "none" || /haiku/i.test(model)) return { kind: "none" }
  // The server rejects thinking together with a forced tool call.
  if (request.toolChoice === "required") return { kind: "none" }
  const version = claudeVersion(model)
  // Claude before 4.6 and the models of other vendors only support a token budget.
  if (version === undefined || version < 406) {
    const tokens = BUDGETS[effort]
    const fits = contextLength <= 1 || tokens + MIN_ANSWER_TOKENS < contextLength
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

/** Claude 4.7 and later reject temperature, top_p and top_k. */
function refusesSampling(model: string): boolean {
  return (claudeVersion(model) ?? 0) >= 407
}

/**
 * 406 for `claude-opus-4-6`, infinity for a Claude without a version number, undefined for other models. A date
 * (`-20250514`) is not a minor version.
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
