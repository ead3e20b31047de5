import type { Result } from "../../base/result.ts"

/** Skills as slash commands, for surfaces. */
export interface SkillCommands {
  /** The commands of all enabled skills, sorted. Of several with the same command the first is kept. */
  list(): Promise<readonly SkillCommand[]>
  /** Loads a skill for one message: returns the text to send. The skill is sent with it. Undefined when there is no such command. */
  invoke(slug: string, instruction: string): Promise<Result<string> | undefined>
  /** Loads skills with the next message, whatever it is. Fails with all names that are unknown. */
  preload(names: readonly string[]): Promise<Result<undefined>>
}

export interface SkillCommand {
  readonly slug: string
  readonly name: string
  readonly description: string
}
