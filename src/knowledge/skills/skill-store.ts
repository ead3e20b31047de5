import type { Clock } from "../../base/clock.ts"
import type { Environment } from "../../config/environment.ts"
import { inContainer, type Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import type { Result } from "../../base/result.ts"
import type { JudgeSnippets } from "./guard/command-risk.ts"
import { loadSkills, type LoadedSkills } from "./load-skills.ts"
import { skillState, type SkillCircumstances } from "./skill-conditions.ts"
import { skillRoots } from "./skill-roots.ts"
import type { SkillNotFound } from "./find-skill.ts"
import type { SkillChange, SkillChangeResult } from "./skill-change.ts"
import type { UsageEvent } from "./skill-usage.ts"
import type { ViewedSkill, ViewedSkillFile, ViewSources } from "./view-skill.ts"
import type { Skill, SkillRoot } from "./skill.ts"

export interface SkillStoreOptions {
  readonly home: Home
  readonly config: Config
  readonly environment: Environment
  readonly clock: Clock
  /** What the guard knows about commands. Called before the first scan. */
  readonly loadJudge: () => Promise<JudgeSnippets>
  /** The surface, for `skills.platform_disabled`. */
  readonly platform: string
  /** Set where the project in the working directory may bring skills. */
  readonly project?: string
  readonly sessionId?: () => string
  /** The tools of the session; undefined outside one. */
  readonly tools?: () => SkillCircumstances["tools"]
  readonly inWorkspace?: (path: string) => string
  /** Copies bundled skills into the home if they have changed; called before the first look. */
  readonly prepare?: () => Promise<void>
}

/** Loads, lists and changes skills. Every call looks at the disk again, because other programs write there too. */
export interface SkillStore {
  /** Also those that are disabled or do not fit here. */
  all(): Promise<LoadedSkills>
  offered(): Promise<{ readonly skills: readonly Skill[]; readonly categories: Readonly<Record<string, string>> }>
  /** `tools` replaces those of the session, for a prompt that is built before it. */
  stateOf(skill: Skill, tools?: SkillCircumstances["tools"]): ReturnType<typeof skillState>
  view(name: string, how?: { readonly isNamedByUser?: boolean }): Promise<Result<ViewedSkill, SkillNotFound>>
  /** Why the guard would keep `view` from loading it; undefined when it would not. */
  refusal(skill: Skill): Promise<string | undefined>
  viewFile(name: string, file: string): Promise<Result<ViewedSkillFile, SkillNotFound>>
  /** The text of SKILL.md or of another file, as it is on disk. */
  readText(name: string, file: string | undefined): Promise<Result<string>>
  /** Carries the change out now. `accept` asks the user about what the guard found. */
  change(change: SkillChange, accept: (question: string) => Promise<boolean>): Promise<SkillChangeResult>
  /** Stores the change for the user to approve. */
  stage(change: SkillChange): Promise<SkillChangeResult>
  recordUse(name: string, event: UsageEvent): Promise<void>
  roots(): readonly SkillRoot[]
}

export function createSkillStore(options: SkillStoreOptions): SkillStore {
  const { home, config, environment, clock } = options
  const roots = (): readonly SkillRoot[] => skillRoots({ home, config, project: options.project })
  const all = async (): Promise<LoadedSkills> => {
    await options.prepare?.()
    return await loadSkills(roots(), snapshotPath(home))
  }
  const circumstances = (tools = options.tools?.()): SkillCircumstances => {
    return {
      platform: process.platform,
      environments: activeEnvironments(environment),
      disabled: disabledNames(config, options.platform),
      ...(tools === undefined ? {} : { tools }),
    }
  }
  const viewSources = async (): Promise<ViewSources> => ({
    ...(await all()),
    roots: roots(),
    circumstances: circumstances(),
    home: home.path,
    variable: (name) => environment.get(name),
    sessionId: options.sessionId?.(),
    replacesVariables: config.get("skills.template_vars"),
    settings: config.get("skills.config"),
    inWorkspace: options.inWorkspace ?? ((path) => path),
    loadJudge: options.loadJudge,
  })
  const changeSources = async (accept: (question: string) => Promise<boolean>) => ({
    skills: (await all()).skills,
    roots: roots(),
    isGuarded: config.get("skills.guard_agent_created"),
    accept,
    loadJudge: options.loadJudge,
    clock,
  })
  return {
    all,
    roots,
    offered: async () => {
      const { skills, categories } = await all()
      const now = circumstances()
      return { skills: skills.filter((skill) => skillState(skill, now) === "offered"), categories }
    },
    stateOf: (skill, tools) => skillState(skill, circumstances(tools)),
    view: async (name, how = {}) => {
      const { viewSkill } = await import("./view-skill.ts")
      return await viewSkill(name, { ...(await viewSources()), ...how })
    },
    refusal: async (skill) => {
      const { refusalOf } = await import("./view-skill.ts")
      return await refusalOf(skill, { roots: roots(), loadJudge: options.loadJudge })
    },
    viewFile: async (name, file) => {
      const { viewSkillFile } = await import("./view-skill.ts")
      return await viewSkillFile(name, file, await viewSources())
    },
    readText: async (name, file) => {
      const { readSkillText } = await import("./view-skill.ts")
      return readSkillText(name, file, await viewSources())
    },
    change: async (change, accept) => {
      const { changeSkill } = await import("./change-skill.ts")
      return await changeSkill(change, await changeSources(accept))
    },
    stage: async (change) => {
      const { checkChange } = await import("./change-skill.ts")
      const { stageChange } = await import("./staged-changes.ts")
      const checked = checkChange(change, await changeSources(() => Promise.resolve(false)))
      if (!checked.ok) {
        const { message, similar } = checked.error
        return { kind: "refused", error: message, ...(similar === undefined ? {} : { similar }) }
      }
      const staged = stageChange(stagingPath(home), change, clock)
      if (!staged.ok) return { kind: "refused", error: staged.error }
      const id = staged.value
      return { kind: "staged", id, message: `staged as ${id}: the user decides with /skills; continue without it` }
    },
    recordUse: async (name, event) => {
      const { recordUsage } = await import("./skill-usage.ts")
      await recordUsage(home.file("skills"), { name, event, clock })
    },
  }
}

export function snapshotPath(home: Home): string {
  return home.file(".skills_prompt_snapshot.json")
}

/** Changes that wait for the user's approval. */
export function stagingPath(home: Home): string {
  return home.file("pending", "skills")
}

/** `skills.disabled` and what is disabled for this surface, in lower case. */
export function disabledNames(config: Pick<Config, "get">, platform: string): ReadonlySet<string> {
  const here = config.get("skills.platform_disabled")[platform]
  const names = [...config.get("skills.disabled"), ...(Array.isArray(here) ? here : [])]
  return new Set(names.flatMap((name) => (typeof name === "string" ? [name.toLowerCase()] : [])))
}

function activeEnvironments(environment: Environment): ReadonlySet<string> {
  const isSet = (name: string): boolean => (environment.get(name) ?? "") !== ""
  return new Set([
    ...(isSet("HERMES_KANBAN_TASK") ? ["kanban"] : []),
    ...(inContainer(environment) ? ["docker"] : []),
    ...(isSet("S6_CMD_WAIT_FOR_SERVICES") || isSet("S6_LOGGING") ? ["s6"] : []),
  ])
}
