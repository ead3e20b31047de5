import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Terminal } from "./terminal.ts"

/**
 * One command of the tree. Help, completion, suggestions, validation and the reference page are derived from this value; the
 * code behind it is loaded only when the command runs, so that `hermes --help` pays for names and sentences alone.
 */
export interface Command {
  readonly name: string
  readonly aliases?: readonly string[]
  /** One line for the overview. */
  readonly summary: string
  /** More for `hermes <command> --help`. */
  readonly details?: string
  readonly group: CommandGroup
  readonly flags?: readonly Flag[]
  readonly positionals?: readonly Positional[]
  readonly subcommands?: readonly Command[]
  /** Absent: the command belongs to a later release; running it says so and exits 1. */
  readonly load?: () => Promise<{ readonly run: CommandRun }>
  /** What took over from a command that no longer exists; running it names the replacement and exits 1. */
  readonly replacedBy?: string
}

export type CommandGroup = "talk" | "sessions" | "settings" | "extend" | "automate" | "connect" | "care"

export interface Flag {
  /** Long name without dashes. */
  readonly name: string
  readonly short?: string
  readonly summary: string
  readonly value: FlagValue
  readonly repeatable?: boolean
  /** Parsed and listed under "not available in this release"; using it exits 1 with a sentence. */
  readonly later?: boolean
  /** Long names of flags that contradict this one; both together exit 2. */
  readonly conflictsWith?: readonly string[]
  /** The value may be several unquoted words: those up to the next flag or command name are joined. */
  readonly joinsWords?: boolean
  /** Understood but not listed: a helper of our own scripts. */
  readonly hidden?: boolean
}

export type FlagValue =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly placeholder: string; readonly complete?: Completion }
  | { readonly kind: "optional-text"; readonly placeholder: string; readonly complete?: Completion }
  | { readonly kind: "integer"; readonly placeholder: string; readonly min?: number; readonly max?: number }
  | { readonly kind: "number"; readonly placeholder: string; readonly min?: number }
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  /** Everything that follows, whatever it looks like. */
  | { readonly kind: "rest"; readonly placeholder: string }

export interface Positional {
  readonly name: string
  readonly summary: string
  readonly required: boolean
  /** Takes all remaining words. */
  readonly rest?: boolean
  readonly choices?: readonly string[]
  readonly complete?: Completion
}

/** What the shell offers at that place; answered by `hermes completion --candidates <kind>`. */
export type Completion =
  | "profile"
  | "session"
  | "provider"
  | "toolset"
  | "skill"
  | "setting"
  | "file"
  | "directory"
  | "log"

/** The whole command line. Parser, help, completion and reference page read this value and nothing else. */
export interface CommandTree {
  readonly commands: readonly Command[]
  /** Run when the line names no command. */
  readonly defaultCommand: string
  /** Accepted before and after every command. */
  readonly commonFlags: readonly Flag[]
  /** Accepted before every command; a command that declares the same flag sees the value. */
  readonly runFlags: readonly Flag[]
  /** Accepted before a command only. */
  readonly rootFlags: readonly Flag[]
}

/** What a command gets. It returns the exit code; a `CliError` it throws is printed as one sentence. */
export type CommandRun = (invocation: Invocation) => Promise<number>

export interface Invocation {
  /** Names from the root to the command, for example `["sessions", "list"]`. */
  readonly path: readonly string[]
  readonly flags: FlagValues
  readonly positionals: readonly string[]
  readonly terminal: Terminal
  readonly environment: Environment
  readonly home: Home
  /** The tree the line was read against, for completion and reference pages. */
  readonly tree: CommandTree
  /** Aborts on the first SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal
}

/** Typed access to parsed flags; asking for a flag the command does not declare is a bug and throws. */
export interface FlagValues {
  has(name: string): boolean
  text(name: string): string | undefined
  texts(name: string): readonly string[]
  number(name: string): number | undefined
}

/** A failure a person caused or can mend: one sentence on stderr and a stable exit code. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, options: { readonly exitCode: number; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.name = "CliError"
    this.exitCode = options.exitCode
  }
}
