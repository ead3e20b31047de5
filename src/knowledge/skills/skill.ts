/** Where skills are kept. The first root that has a skill of a name wins. */
export interface SkillRoot {
  readonly path: string
  readonly kind: SkillSource
}

/**
 * `home`: the user's own, the only writable root. `external`: named in the settings. `user`: skills that the user has for other agents.
 * `project`: found in the working directory, so written by other people.
 */
export type SkillSource = "home" | "external" | "user" | "project"

/** What is known about a skill without loading it: one entry of the index. */
export interface Skill {
  readonly name: string
  readonly description: string
  /** Directories between the root and the skill, for example `coding` or `media/video`; "" when there are none. */
  readonly category: string
  /** Absolute. */
  readonly directory: string
  readonly source: SkillSource
  /** Installed with Hermes. */
  readonly bundled: boolean
  readonly platforms: readonly string[]
  readonly environments: readonly string[]
  readonly requiresToolsets: readonly string[]
  readonly requiresTools: readonly string[]
  readonly fallbackForToolsets: readonly string[]
  readonly fallbackForTools: readonly string[]
  /** Why its front matter could not be read completely. */
  readonly problem?: string
}

/** The file that makes a directory a skill. */
export const SKILL_FILE = "SKILL.md"
/** Directories of a skill with files for the third level of disclosure. */
export const SUPPORT_DIRECTORIES = ["references", "templates", "scripts", "assets"] as const
export const MAX_NAME_CHARS = 64
export const MAX_DESCRIPTION_CHARS = 1024

/** The name with its category, which is unique within a root. */
export function qualifiedName({ category, directory }: Pick<Skill, "category" | "directory">): string {
  const name = directory.slice(directory.lastIndexOf("/") + 1)
  return category === "" ? name : `${category}/${name}`
}
