import { environmentText } from "./environment-text.ts"
import type { EnvironmentFacts } from "./environment-text.ts"
import { FINISHING, STEERING, helpPointer } from "./guidance.ts"
import { TOOL_USE, familyGuidance, enforcesToolUse } from "./model-guidance.ts"
import type { ToolUseEnforcement } from "./model-guidance.ts"
import { platformHint } from "./platform-hints.ts"
import type { DraftLayer } from "./prompt-budget.ts"
import type { PromptRequest } from "../facet.ts"

export interface StableFacts extends EnvironmentFacts, PromptRequest {
  readonly platform: string
  readonly model: string
  /** The provider's API reports a wrong model name. */
  readonly misreportsModel?: boolean
  readonly taskCompletionGuidance: boolean
  readonly toolUseEnforcement: ToolUseEnforcement
}

/** What is the same for all sessions on this machine, after the identity. */
export function stableTier(facts: StableFacts): readonly DraftLayer[] {
  return [
    { name: "platform", text: platformHint(facts.platform) },
    { name: "environment", text: environmentText(facts) },
    ...(facts.style === "lean" ? leanGuidance(facts) : fullGuidance(facts)),
    { name: "steering", text: facts.tools.length > 0 ? STEERING : "" },
  ]
}

function fullGuidance(facts: StableFacts): readonly DraftLayer[] {
  const hasTools = facts.tools.length > 0
  const isToolUseEnforced = hasTools && enforcesToolUse(facts.toolUseEnforcement, facts.model)
  return [
    { name: "tool use", text: isToolUseEnforced ? TOOL_USE : "" },
    { name: "model family", text: isToolUseEnforced ? familyGuidance(facts.model) : "" },
    modelName(facts),
    { name: "help", text: helpPointer(facts.tools) },
    { name: "finishing", text: hasTools && facts.taskCompletionGuidance ? FINISHING : "" },
  ]
}

const LEAN_TOOL_USE =
  "Act with tools instead of describing it, and go on until tool output confirms the result. Say what is missing; invent nothing."

function leanGuidance(facts: StableFacts): readonly DraftLayer[] {
  return [{ name: "tool use", text: facts.tools.length > 0 ? LEAN_TOOL_USE : "" }, modelName(facts)]
}

function modelName(facts: StableFacts): DraftLayer {
  const name = facts.model.slice(facts.model.lastIndexOf("/") + 1)
  const text = `You are the model ${name} (id ${facts.model}). When asked which model you are, say this, regardless of what the API reports.`
  return { name: "model name", text: facts.misreportsModel === true ? text : "" }
}
