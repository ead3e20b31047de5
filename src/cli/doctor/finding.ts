import type { Home } from "../../config/home.ts"
import type { Settings } from "../settings-access.ts"
import type { Terminal } from "../terminal.ts"

/** One line of the report. */
export interface Finding {
  readonly level: "ok" | "info" | "warning" | "failure"
  readonly text: string
  /** What the person can do about it. */
  readonly fix?: string
  /** What `--fix` can do about it: always safe, never loses anything. */
  readonly repair?: Repair
}

export interface Repair {
  /** Said before it is done. */
  readonly announcement: string
  run(): Promise<void> | void
}

export interface DoctorContext {
  readonly home: Home
  readonly settings: Settings
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/** A part of the report. A check that throws becomes a failure of its section; it never ends the report. */
export interface Section {
  readonly title: string
  check(context: DoctorContext): Promise<readonly Finding[]> | readonly Finding[]
}

export const good = (text: string): Finding => ({ level: "ok", text })
export const note = (text: string): Finding => ({ level: "info", text })
