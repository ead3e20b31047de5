import type { Skill } from "./skill.ts"

/** What decides which skills a session is offered. */
export interface SkillCircumstances {
  /** `process.platform`. */
  readonly platform: string
  /** The tags among `kanban`, `docker` and `s6` that apply. */
  readonly environments: ReadonlySet<string>
  /** Names in lower case. */
  readonly disabled: ReadonlySet<string>
  /** Absent outside a session: conditions on tools are then not checked. */
  readonly tools?: { readonly names: ReadonlySet<string>; readonly toolsets: ReadonlySet<string> }
}

export type SkillState = "offered" | "disabled" | "unsupported" | "hidden"

/** `unsupported`: another system or environment. `hidden`: a tool is missing, or it replaces a tool that is there. */
export function skillState(skill: Skill, circumstances: SkillCircumstances): SkillState {
  if (circumstances.disabled.has(skill.name.toLowerCase())) return "disabled"
  if (!runsOn(skill.platforms, circumstances.platform)) return "unsupported"
  if (!fitsEnvironment(skill.environments, circumstances.environments)) return "unsupported"
  const { tools } = circumstances
  if (tools === undefined) return "offered"
  const isMissing =
    skill.requiresTools.some((name) => !tools.names.has(name)) ||
    skill.requiresToolsets.some((name) => !tools.toolsets.has(name))
  const isReplaced =
    skill.fallbackForTools.some((name) => tools.names.has(name)) ||
    skill.fallbackForToolsets.some((name) => tools.toolsets.has(name))
  return isMissing || isReplaced ? "hidden" : "offered"
}

const SYSTEMS: Readonly<Record<string, readonly string[]>> = {
  macos: ["darwin"],
  darwin: ["darwin"],
  // Termux reports `android`.
  linux: ["linux", "android"],
  windows: ["win32"],
  win32: ["win32"],
}

function runsOn(platforms: readonly string[], platform: string): boolean {
  return platforms.length === 0 || platforms.some((name) => SYSTEMS[name.toLowerCase()]?.includes(platform) === true)
}

const KNOWN_ENVIRONMENTS = new Set(["kanban", "docker", "s6"])

/** An unknown tag does not hide a skill. */
function fitsEnvironment(tags: readonly string[], active: ReadonlySet<string>): boolean {
  return tags.length === 0 || tags.some((tag) => !KNOWN_ENVIRONMENTS.has(tag) || active.has(tag))
}
