import type { SandboxTrial } from "../local/local-shell-state.ts"
import type { SandboxHomes } from "./hidden-paths.ts"
import type { NetworkAccess } from "./network/network-access.ts"
import type { CommandWalls } from "./sandbox-arguments.ts"
import type { LoadSandboxRuntime } from "./seatbelt/sandbox-runtime.ts"

export interface SandboxSettings {
  /** `terminal.sandbox`. A permission rule that demands the sandbox makes it `required`. */
  readonly mode: "auto" | "off" | "required"
  readonly network: boolean | "list"
  /** The network of commands with `list`. */
  readonly access?: NetworkAccess | undefined
  /** The workspace root, temporary directories and `terminal.sandbox_write`. */
  readonly writable: readonly string[]
  /** Read-only even inside a writable directory. A writable path inside one of these stays writable. */
  readonly readOnly?: readonly string[]
  /** Paths to hide in addition to those that are hidden on every machine. */
  readonly hidden?: readonly string[]
  /** Files inside hidden directories that commands may read. Called for each command. */
  readonly shown?: () => readonly string[]
  /** Unix sockets that commands may use. With any, Unix sockets are not refused in general. */
  readonly sockets?: readonly string[]
  readonly homes: SandboxHomes
  /** The PATH to search for bubblewrap. */
  readonly path: string
  /** Work that has to be done in the sandbox anyway. Its success proves that the sandbox works and saves a probe. */
  readonly trial?: SandboxTrial | undefined
  /** Runs commands in sandbox-runtime on any system, for tests. By default only macOS uses it. */
  readonly loadRuntime?: LoadSandboxRuntime | undefined
  readonly signal: AbortSignal
}

/** Returns the command line that starts a command inside walls. */
export type RenderWalls = (walls: CommandWalls) => readonly string[]
