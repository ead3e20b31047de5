import { assertNever } from "../../../base/assert-never.ts"
import type { Effort, ModelRequest } from "../../model.ts"
import { claudeVersion, MIN_ANSWER_TOKENS, thinkingMode } from "../anthropic-messages/parameters.ts"
import type { ThinkingMode } from "../anthropic-messages/parameters.ts"

const DEFAULT_MAX_TOKENS = 4096

/**
 * Output limit, temperature and thinking. Converse passes the thinking fields of each model family through unchanged.
 */
export function bedrockParameters(
  request: ModelRequest,
  { contextLength }: { readonly contextLength: number },
): Record<string, unknown> {
  const thinking = claudeThinking(request, contextLength)
  const requested = request.maxOutputTokens ?? DEFAULT_MAX_TOKENS
  const limit = thinking.kind === "budget" ? Math.max(requested, thinking.tokens + MIN_ANSWER_TOKENS) : requested
  const extra = { ...claudeFields(thinking), ...otherFields(request) }
  // Claude rejects a temperature while thinking, and the newest versions always do.
  const temperature = thinking.kind === "none" && !rejectsTemperature(request.model) ? request.temperature : undefined
  return {
    inferenceConfig: {
      maxTokens: contextLength > 1 ? Math.min(limit, contextLength - 1) : limit,
      ...(temperature === undefined ? {} : { temperature }),
    },
    ...(Object.keys(extra).length === 0 ? {} : { additionalModelRequestFields: extra }),
  }
}

/** Whether the request enables Claude's thinking with a token budget. */
export function hasThinkingBudget(
  request: ModelRequest,
  { contextLength }: { readonly contextLength: number },
): boolean {
  return claudeThinking(request, contextLength).kind === "budget"
}

/** Claude 3.7; earlier versions reject the thinking parameter. */
const FIRST_THINKING_CLAUDE = 307

function claudeThinking(request: ModelRequest, contextLength: number): ThinkingMode {
  const model = request.model.toLowerCase()
  const version = claudeVersion(model) ?? 0
  return version < FIRST_THINKING_CLAUDE || NAMED_WITHOUT_VERSION.test(model)
    ? { kind: "none" }
    : thinkingMode(request, { model, contextLength })
}

/** The first Claude models, whose names contain no comparable version number. */
const NAMED_WITHOUT_VERSION = /claude-(?:instant|v\d)/

function claudeFields(thinking: ThinkingMode): Record<string, unknown> {
  switch (thinking.kind) {
    case "none":
      return {}
    case "adaptive":
      return {
        thinking: { type: "adaptive", display: "summarized" },
        output_config: { effort: thinking.effort },
      }
    case "budget":
      return { thinking: { type: "enabled", budget_tokens: thinking.tokens } }
    default:
      return assertNever(thinking)
  }
}

function otherFields({ model, effort }: ModelRequest): Record<string, unknown> {
  const id = model.toLowerCase()
  if (effort === undefined || effort === "none") return {}
  if (/(?:^|\.)openai\.gpt-oss/.test(id)) return { reasoning_effort: LEVELS[effort] }
  // Nova rejects `high` together with an output limit, which is always sent.
  const nova = LEVELS[effort] === "low" ? "low" : "medium"
  return /(?:^|\.)amazon\.nova-2/.test(id) ? { reasoningConfig: { type: "enabled", maxReasoningEffort: nova } } : {}
}

const LEVELS: Record<Exclude<Effort, "none">, "low" | "medium" | "high"> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
}

/** Claude 4.7 and later. */
function rejectsTemperature(model: string): boolean {
  const version = claudeVersion(model)
  return version !== undefined && Number.isFinite(version) && version >= 407
}
