/** How far a long operation is. */
export interface Progress {
  /** What is being done, such as "checking the session database". */
  readonly step: string
  readonly done?: number
  readonly total?: number
}

/** Receives the progress of an operation, and undefined at its end. */
export type ReportProgress = (progress: Progress | undefined) => void
