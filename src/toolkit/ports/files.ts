import type { FloorDirectories } from "../../policy/file-floor.ts"

/** Identifies the version of a file. */
export interface FileStamp {
  readonly modifiedMs: number
  readonly size: number
}

/** The part of a file that a read requested; symbolic links in the path are resolved. */
export interface ReadRange {
  readonly path: string
  readonly offset: number
  readonly limit: number
}

export interface ProfileDirectories extends FloorDirectories {
  /** Name of the active profile. */
  readonly profile: string
}

/**
 * Tracks what one task has read and written. Symbolic links in paths are resolved. It only produces warnings, except that repeated
 * calls are refused.
 */
export interface FileTracker {
  /** The working directory at the start of the session; the shell may have changed its own since. */
  readonly workspaceRoot?: string
  /** Directories of the profile: searches omit its secrets, and writes to another profile are refused. */
  readonly directories?: ProfileDirectories

  /** How often this range of the unchanged file was requested since it was returned; 0 when it must be read. */
  timesRequestedAgain(window: ReadRange, stamp: FileStamp): number
  /** Records that the range was returned; `partial` when the file has more. */
  recordRead(window: ReadRange, seen: FileStamp & { readonly partial: boolean }): void
  /** How many times in a row this exact read or search was called, including this time. */
  timesInARow(signature: string): number
  /** Called for every call of another tool. */
  resetRepeatCount(): void

  /** The most important reason why a write may overwrite changes of others or content that the model has not seen. */
  staleWarning(path: string, now: FileStamp, intent: "replace" | "edit"): string | undefined
  /** Records a write by the task; `now` is undefined when it removed the file. */
  recordWrite(path: string, now: FileStamp | undefined, intent: "replace" | "edit"): void
  /** Runs `work` while no other task of the app changes these files; undefined when the signal aborted the wait. */
  withLocks<T>(paths: readonly string[], signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined>

  /** How many edits of the file have failed in a row, including this one. */
  recordFailedEdit(path: string): number
  forgetFailedEdits(path: string): void

  /** After a compression, returned content may no longer be in the conversation. */
  forget(): void
  /** Forgets returned content of one file, because it changed outside. */
  forgetFile(path: string): void
  /** Whether a file has changed since this task last read or wrote it; `now` is undefined for a deleted file. */
  changedSince(path: string, now: FileStamp | undefined): "unknown" | "unchanged" | "changed"
}
