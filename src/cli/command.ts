import type { Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import type { Terminal } from "../terminal/terminal.ts"

/**
 * One command of the tree. Help, completion, suggestions, validation and the reference page are derived from this value. Its code
 * is loaded when the command runs, so that `hermes --help` loads only names and summaries.
 */
export interface Command {
  readonly name: string
  readonly aliases?: readonly string[]
  /** One line for the overview: lower case, no full stop. */
  readonly summary: string
  /** Further text for `hermes <command> --help`. */
  readonly details?: string
  readonly group: CommandGroup
  readonly flags?: readonly Flag[]
  readonly positionals?: readonly Positional[]
  readonly subcommands?: readonly Command[]
  /** Absent for a command of a later release; running it prints that and exits 1. */
  readonly load?: () => Promise<{ readonly run: CommandRun }>
  /** The replacement of a removed command; running it prints the replacement and exits 1. */
  readonly replacedBy?: string
}

export type CommandGroup = "chat" | "sessions" | "settings" | "extend" | "automate" | "connect" | "maintenance"

export interface Flag {
  /** Long name without dashes. */
  readonly name: string
  readonly short?: string
  readonly summary: string
  readonly value: FlagValue
  readonly repeatable?: boolean
  /** Not available in this release: listed separately in help, and using it exits 1 with a message. */
  readonly later?: boolean
  /** Long names of flags that cannot be combined with this one; using both exits 2. */
  readonly conflictsWith?: readonly string[]
  /** The value may be several unquoted words: all up to the next flag or command name are joined. */
  readonly joinsWords?: boolean
  /** Accepted but not listed; for the completion scripts. */
  readonly hidden?: boolean
}

export type FlagValue =
  | { readonly kind: "none" }
  | { readonly kind: "text"; readonly placeholder: string; readonly complete?: Completion }
  | { readonly kind: "optional-text"; readonly placeholder: string; readonly complete?: Completion }
  | { readonly kind: "integer"; readonly placeholder: string; readonly min?: number; readonly max?: number }
  | { readonly kind: "number"; readonly placeholder: string; readonly min?: number }
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  /** All remaining words, including flags. */
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

/** What the shell suggests for a value; `hermes completion --candidates <kind>` prints the suggestions. */
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

/** All commands and flags. Parser, help, completion and the reference page are derived from this value alone. */
export interface CommandTree {
  readonly commands: readonly Command[]
  /** Runs when the command line names no command. */
  readonly defaultCommand: string
  /** Accepted before and after every command. */
  readonly commonFlags: readonly Flag[]
  /** Accepted before every command; a command that declares the same flag receives the value. */
  readonly runFlags: readonly Flag[]
  /** Accepted before a command only. */
  readonly rootFlags: readonly Flag[]
}

/** Runs a command and returns the exit code. A `CliError` that it throws is printed as one sentence. */
export type CommandRun = (invocation: Invocation) => Promise<number>

export interface Invocation {
  /** Names from the root to the command, for example `["sessions", "list"]`. */
  readonly path: readonly string[]
  readonly flags: FlagValues
  readonly positionals: readonly string[]
  readonly terminal: Terminal
  readonly environment: Environment
  readonly home: Home
  /** The tree that the command line was parsed with, for completion. */
  readonly tree: CommandTree
  /** Aborts on the first SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal
}

/** Access to the parsed flags. Throws for a flag that the command does not declare, because that is a bug. */
export interface FlagValues {
  has(name: string): boolean
  text(name: string): string | undefined
  texts(name: string): readonly string[]
  number(name: string): number | undefined
}

/** A failure that the user can fix: one sentence on stderr and a stable exit code. */
export class CliError extends Error {
  readonly exitCode: number
  constructor(message: string, options: { readonly exitCode: number; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.name = "CliError"
    this.exitCode = options.exitCode
  }
}
