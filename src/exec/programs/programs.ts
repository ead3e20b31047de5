import type { Duplex, Readable } from "node:stream"

import type { Confinement } from "../confinement.ts"

/** Starts programs on this machine that talk to Hermes over sockets which they inherit. For scripts that call tools. */
export interface Programs {
  /** Whether they run in the sandbox of this machine; opens it first. */
  isSandboxed(): Promise<boolean>
  /** The variables that programs always get. */
  environment(): Promise<Readonly<Record<string, string>>>
  /** Rejects when the sandbox that the settings require is not available. */
  start(program: ProgramOptions): Promise<StartedProgram>
}

export interface ProgramOptions {
  /** The program and its arguments. No shell interprets them. */
  readonly commandLine: readonly string[]
  readonly cwd: string
  /** Added to the variables that programs always get. */
  readonly environment: Readonly<Record<string, string>>
  /** The program may write here even where everything else is read-only. */
  readonly privateDirectory: string
  /** How many sockets it inherits, as descriptors 3, 4 and so on. */
  readonly channels: number
  readonly confinement?: Confinement | undefined
}

export interface StartedProgram {
  readonly stdout: Readable
  readonly stderr: Readable
  /** Our ends of the sockets. They close when the program and everything it started have exited. */
  readonly channels: readonly Duplex[]
  /** Resolves when the program has exited and its output was read. Never rejects. */
  readonly exit: Promise<ProgramExit>
  /** Sends SIGTERM to the program and everything it started, and SIGKILL to what remains after the grace period. */
  terminate(): void
  /** Sends SIGKILL to everything at once. */
  kill(): void
}

export interface ProgramExit {
  /** Null after a signal, and when it could not be started. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Why it could not be started. */
  readonly notStarted?: string
}
