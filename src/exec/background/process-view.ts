/** A background process as it is now. */
export interface ProcessView {
  readonly id: string
  readonly command: string
  readonly cwd: string
  readonly pid: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly uptimeMs: number
  readonly isPty: boolean
  /** Found again after a restart: its output and input are out of reach. */
  readonly isDetached: boolean
  readonly state: { readonly status: "running" } | ProcessEnd
  /** The end of what it said, as it was said; begins in the middle when `isCut`. */
  readonly output: string
  readonly isCut: boolean
}

export interface ProcessEnd {
  readonly status: "exited"
  /** Unknown for a process that ended while nobody looked. */
  readonly exitCode: number | undefined
  readonly reason: "exited" | "killed" | "lost" | "failed_start"
  /** Who ended it, when it was killed. */
  readonly source?: string
}
