/** The current state of a background process. */
export interface ProcessView {
  readonly id: string
  readonly command: string
  readonly cwd: string
  readonly pid: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly uptimeMs: number
  readonly isPty: boolean
  /** Recovered after a restart of Hermes, without access to its output and input. */
  readonly isDetached: boolean
  readonly state: { readonly status: "running" } | ProcessExit
  /** The last part of its raw output; the beginning is missing when `isTruncated`. */
  readonly output: string
  readonly isTruncated: boolean
}

export interface ProcessExit {
  readonly status: "exited"
  /** Undefined for a process that exited while Hermes was not its parent. */
  readonly exitCode: number | undefined
  readonly reason: "exited" | "killed" | "lost"
  /** What killed it, such as a tool call or the shutdown. */
  readonly source?: string
}
