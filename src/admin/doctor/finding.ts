import type { Result } from "../../base/result.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** One line of the report. */
export interface Finding {
  readonly level: "ok" | "info" | "warning" | "failure"
  readonly text: string
  /** What the user can do about it. */
  readonly fix?: string
  readonly repair?: Repair
}

/** A repair that Hermes can do. It is safe and never deletes data. */
export interface Repair {
  /** A sentence to show before the repair runs. */
  readonly announcement: string
  run(): Promise<Result<undefined>>
}

export interface DoctorContext extends LoadedHome {
  /** Why the running Node is too old; undefined when it is recent enough. */
  readonly nodeProblem: string | undefined
  readonly terminal: TerminalFacts
  /** Also run checks that take long. */
  readonly full: boolean
  readonly signal: AbortSignal
}

/** The terminal that the surface runs in. */
export interface TerminalFacts {
  readonly stdoutIsTty: boolean
  readonly columns: number
  readonly color: boolean
}

/** A part of the report. A check that throws becomes a failure of its section; it never ends the report. */
export interface Section {
  readonly title: string
  check(context: DoctorContext): Promise<readonly Finding[]> | readonly Finding[]
}

export const okFinding = (text: string): Finding => ({ level: "ok", text })
export const infoFinding = (text: string): Finding => ({ level: "info", text })
