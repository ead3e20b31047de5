import { assertNever } from "../../base/assert-never.ts"
import type { Effort, ModelRequest } from "../model.ts"
import { claudeVersion, ROOM_TO_ANSWER, thinkingFor } from "./anthropic-parameters.ts"
import type { Thinking } from "./anthropic-parameters.ts"

const DEFAULT_MAX_TOKENS = 4096

/** Length, temperature and how hard to think. Converse has no field for thinking: each family has its own, passed through. */
export function bedrockParameters(
  request: ModelRequest,
  { contextLength }: { readonly contextLength: number },
): Record<string, unknown> {
  const thinking = claudeThinking(request, contextLength)
  const asked = request.maxOutputTokens ?? DEFAULT_MAX_TOKENS
  const room = thinking.kind === "budget" ? Math.max(asked, thinking.tokens + ROOM_TO_ANSWER) : asked
  const extra = { ...claudeFields(thinking), ...otherFields(request) }
  // A Claude that thinks takes no temperature, and the newest take none at all.
  const temperature = thinking.kind === "none" && !refusesTemperature(request.model) ? request.temperature : undefined
  return {
    inferenceConfig: {
      maxTokens: contextLength > 1 ? Math.min(room, contextLength - 1) : room,
      ...(temperature === undefined ? {} : { temperature }),
    },
    ...(Object.keys(extra).length === 0 ? {} : { additionalModelRequestFields: extra }),
  }
}

/** Claude thinks since 3.7; what came before answers the parameter with an error. */
const FIRST_THINKING_CLAUDE = 307

function claudeThinking(request: ModelRequest, contextLength: number): Thinking {
  const model = request.model.toLowerCase()
  const version = claudeVersion(model) ?? 0
  return version < FIRST_THINKING_CLAUDE || NAMED_WITHOUT_VERSION.test(model)
    ? { kind: "none" }
    : thinkingFor(request, { model, contextLength })
}

/** The first Claudes, whose names hold no number that could be compared. */
const NAMED_WITHOUT_VERSION = /claude-(?:instant|v\d)/

function claudeFields(thinking: Thinking): Record<string, unknown> {
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
  // Nova's `high` excludes a limit of the answer, which is always sent.
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
function refusesTemperature(model: string): boolean {
  const version = claudeVersion(model)
  return version !== undefined && Number.isFinite(version) && version >= 407
}
