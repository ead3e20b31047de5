import type { Result } from "../../base/result.ts"
import type { SkillChange, SkillChangeResult } from "../../knowledge/skills/skill-change.ts"
import type { SkillStore } from "../../knowledge/skills/skill-store.ts"
import type { ViewedSkill } from "../../knowledge/skills/view-skill.ts"

/** Operations of the skill tools. */
export interface SkillsPort extends Pick<
  SkillStore,
  "offered" | "all" | "stateOf" | "view" | "viewFile" | "readText" | "stage"
> {
  /** A skill was given to the model: records the use and lets its commands see the variables that it declares. */
  loaded(skill: ViewedSkill): Promise<readonly string[]>
  /** Writes it, or stages it where the user wants to approve every change. */
  change(change: SkillChange, accept: (question: string) => Promise<boolean>): Promise<SkillChangeResult>
  /** Values that the user types for variables of a skill. Absent where no user types at this machine. */
  readonly secrets?: {
    /** False in plan mode, and for variables that commands never see. */
    canStore(name: string): boolean
    store(name: string, value: string): Promise<Result<undefined>>
  }
  /** Set where skills may run inline commands: the tool that runs them, and their time limit. */
  readonly inlineCommands?: { readonly tool: string; readonly timeoutSeconds: number }
}
