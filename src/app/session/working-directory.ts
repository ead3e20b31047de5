import type { SessionId } from "../../protocol/identifiers.ts"
import type { SandboxPaths } from "./session-options.ts"

/** Where a conversation works: the user's directory, or a separate git worktree. */
export interface WorkingDirectory {
  readonly cwd: string
  readonly sandboxPaths?: SandboxPaths
  /** The branch of a worktree. */
  readonly branch?: string
  /** A note for the model about it. */
  readonly note?: string
  /** The note for a resumed session, if that needs a longer one. */
  readonly noteForResumed?: string
  /** For the user, always. */
  readonly warnings: readonly string[]
  /** For the user, except in scripts. */
  readonly hints: readonly string[]
  /** Call it after the session is closed. Returns a notice for the user, or undefined. */
  close(): Promise<string | undefined>
}

export interface WorkingDirectoryRequest {
  readonly cwd: string
  /** The user named `cwd`, so a resumed session does not return to its worktree. */
  readonly isCwdNamed: boolean
  /** The user asked for a worktree, whatever the settings say. */
  readonly worktree: boolean
  /** The session to resume, and where it last worked. */
  readonly resume: { readonly id: SessionId; readonly cwd: string } | undefined
  readonly signal: AbortSignal
}

export function plainDirectory(cwd: string, more: Partial<WorkingDirectory> = {}): WorkingDirectory {
  return { cwd, warnings: [], hints: [], close: () => Promise.resolve(undefined), ...more }
}
