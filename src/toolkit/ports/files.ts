import type { FloorPlaces } from "../../policy/file-floor.ts"

/** What tells a changed file from an unchanged one. */
export interface FileStamp {
  readonly modifiedMs: number
  readonly size: number
}

/** A part of a file as `read_file` was asked for it; the path has its links resolved. */
export interface ReadWindow {
  readonly path: string
  readonly offset: number
  readonly limit: number
}

export interface ProfilePlaces extends FloorPlaces {
  /** Name of the active profile. */
  readonly profile: string
}

/**
 * What one task has read and written. Paths have their links resolved. It only advises: no call fails because of it but those that
 * repeat themselves.
 */
export interface FileTracker {
  /** Where the session began to work; the shell may have gone elsewhere since. */
  readonly workspaceRoot?: string
  /** Lets searches leave out the secrets of the home, and writes notice that they reach into another profile. */
  readonly places?: ProfilePlaces

  /** How often the window of the unchanged file has been asked for since it was returned; 0 when it is to be read. */
  timesAskedAgain(window: ReadWindow, stamp: FileStamp): number
  /** The window was returned. `partial` when the file has more. */
  recordRead(window: ReadWindow, seen: FileStamp & { readonly partial: boolean }): void
  /** How many times in a row this very read or search was called, this time included. */
  timesInARow(signature: string): number
  /** Any call of another tool: repetition is counted anew. */
  otherCall(): void

  /** Why a write may undo what somebody else did, or what the model has not seen; the weightiest reason only. */
  staleWarning(path: string, now: FileStamp, intent: "replace" | "edit"): string | undefined
  /** The task wrote the file; undefined when it removed it. */
  recordWrite(path: string, now: FileStamp | undefined, intent: "replace" | "edit"): void
  /** Runs `work` while no other task of the app changes these files; undefined when the signal ended the wait. */
  withLocks<T>(paths: readonly string[], signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined>

  /** How many edits of the file have failed in a row, this one included. */
  recordFailedEdit(path: string): number
  forgetFailedEdits(path: string): void

  /** What is returned no longer stands in the conversation: after a compression. */
  forget(): void
  /** The same for one file: somebody else changed it. */
  forgetFile(path: string): void
  /** Whether a file is as this task last read or wrote it; `now` is undefined for a file that is gone. */
  changedSince(path: string, now: FileStamp | undefined): "unknown" | "unchanged" | "changed"
}
