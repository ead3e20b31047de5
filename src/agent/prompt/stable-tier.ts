import type { ToolDefinition } from "../../protocol/tool.ts"
import { environmentText } from "./environment-text.ts"
import type { Surroundings } from "./environment-text.ts"
import {
  COMPUTER_USE_GUIDANCE,
  FINISHING,
  KANBAN_GUIDANCE,
  MEMORY_GUIDANCE,
  SESSION_SEARCH_GUIDANCE,
  SKILLS_GUIDANCE,
  STEERING,
  helpPointer,
} from "./guidance.ts"
import { TOOL_USE, familyGuidance, isEnforced } from "./model-guidance.ts"
import type { ToolUseEnforcement } from "./model-guidance.ts"
import { platformHint } from "./platform-hints.ts"
import type { DraftLayer } from "./prompt-budget.ts"

export interface StableFacts extends Surroundings {
  /** `lean` says the least a model can work with, for small windows and slow machines. */
  readonly style?: "full" | "lean"
  readonly platform: string
  /** From the plugin of a platform that is not built in. */
  readonly platformHint?: string
  readonly tools: readonly ToolDefinition[]
  readonly model: string
  /** The provider answers with a wrong name when the model asks who it is. */
  readonly misreportsModel?: boolean
  readonly taskCompletionGuidance: boolean
  readonly toolUseEnforcement: ToolUseEnforcement
  /** The session works on one task of the board. */
  readonly kanbanWorker?: boolean
  /** Sections that plugins add. */
  readonly pluginSections?: readonly string[]
  /** The index of skills, and the same with names only for when there is no room. */
  readonly skills?: string
  readonly skillNames?: string
}

/** What is the same for all sessions on this machine, after the identity. */
export function stableTier(facts: StableFacts): readonly DraftLayer[] {
  const has = (tool: string): boolean => facts.tools.some((definition) => definition.name === tool)
  const worksOnBoard = facts.kanbanWorker === true && has("kanban_show")
  return [
    { name: "platform", text: platformHint(facts.platform, facts.platformHint) },
    { name: "environment", text: environmentText(facts) },
    ...(facts.style === "lean" ? leanGuidance(facts) : fullGuidance(facts, has)),
    { name: "kanban", text: worksOnBoard ? KANBAN_GUIDANCE : "" },
    { name: "steering", text: facts.tools.length > 0 ? STEERING : "" },
    { name: "computer use", text: has("computer_use") ? COMPUTER_USE_GUIDANCE : "" },
    ...(facts.style === "lean" ? [] : pluginLayers(facts)),
    skillsIndex(facts),
  ]
}

function fullGuidance(facts: StableFacts, has: (tool: string) => boolean): readonly DraftLayer[] {
  const tools = facts.tools.length > 0
  const enforced = tools && isEnforced(facts.toolUseEnforcement, facts.model)
  return [
    { name: "tool use", text: enforced ? TOOL_USE : "" },
    { name: "model family", text: enforced ? familyGuidance(facts.model) : "" },
    modelName(facts),
    { name: "help", text: helpPointer(has) },
    { name: "finishing", text: tools && facts.taskCompletionGuidance ? FINISHING : "" },
    { name: "memory guidance", text: has("memory") ? MEMORY_GUIDANCE : "" },
    { name: "session search", text: has("session_search") ? SESSION_SEARCH_GUIDANCE : "" },
    { name: "skills guidance", text: has("skill_manage") ? SKILLS_GUIDANCE : "" },
  ]
}

const LEAN_TOOL_USE =
  "Act with tools instead of describing it, and go on until tool output confirms the result. Say what is missing; invent nothing."

function leanGuidance(facts: StableFacts): readonly DraftLayer[] {
  return [{ name: "tool use", text: facts.tools.length > 0 ? LEAN_TOOL_USE : "" }, modelName(facts)]
}

function modelName(facts: StableFacts): DraftLayer {
  const name = facts.model.slice(facts.model.lastIndexOf("/") + 1)
  const text = `You are the model ${name} (id ${facts.model}). When asked which model you are, say this, whatever the API reports.`
  return { name: "model name", text: facts.misreportsModel === true ? text : "" }
}

function pluginLayers({ pluginSections = [] }: StableFacts): readonly DraftLayer[] {
  return pluginSections.map((text, index) => ({ name: `plugin section ${index + 1}`, text }))
}

function skillsIndex({ style, skills = "", skillNames = "" }: StableFacts): DraftLayer {
  const text = style === "lean" ? skillNames : skills
  return { name: "skills index", text, shorten: () => (skillNames === "" ? text : skillNames) }
}
