import type { HookEvent } from "../hooks/hook-events.ts"

/** A command that runs on an event. */
export interface ShellHook {
  readonly event: HookEvent
  readonly command: string
  /** A regular expression for names of tools. */
  readonly matcher?: string
  readonly timeoutSeconds: number
  /** A failure of the hook refuses the call. Only for `pre_tool_call`. */
  readonly failClosed: boolean
  /** Set for a hook that was written for Claude Code: the name of its event. */
  readonly claudeEvent?: string
  /** The file that contains it; absent for config.yaml. */
  readonly file?: string
  /** It comes with the project, so nothing but the user's own approval lets it run. */
  readonly fromProject?: true
}

export interface FoundShellHooks {
  readonly hooks: readonly ShellHook[]
  readonly warnings: readonly string[]
}

/** What a run of a hook gave. */
export interface HookRun {
  /** Why it failed, as a clause. */
  readonly failure?: string
  /** The last line of its error output, for the model and the user. It is not logged: hooks get the arguments of calls. */
  readonly reason?: string
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export const DEFAULT_TIMEOUT_SECONDS = 60
export const MAX_TIMEOUT_SECONDS = 300
