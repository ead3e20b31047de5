import type { Access, Subject, ToolOutcome } from "../../protocol/tool.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"

/** A call that has run, as those see it who add to its result. */
export interface NotedCall {
  readonly tool: string
  /** Absent when there is no such tool. */
  readonly entry?: ToolEntry
  readonly args: Readonly<Record<string, unknown>>
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  readonly outcome: ToolOutcome
  /** The result as the model will read it. */
  readonly text: string
  /** The error of a failed call, without its framing; of a command that failed, the last it printed. */
  readonly error?: string
}

/**
 * Adds a line to results: a lesson from an earlier error, a reminder of the task list, the rules of a directory. Results come
 * at the end of the request, so nothing that was sent changes. A source that fails is left out and logged.
 */
export type ResultNoteSource = (
  call: NotedCall,
  signal: AbortSignal,
) => Promise<string | undefined> | string | undefined
