import { existsSync } from "node:fs"
import { assertNever } from "../base/assert-never.ts"
import { withVariables, type Environment } from "../config/environment.ts"
import type { Home } from "../config/home.ts"
import { chooseProfile } from "../config/profiles/profile-choice.ts"
import { CliError, type Command, type CommandTree, type FlagValues } from "./command.ts"
import { COMMAND_TREE } from "./command-table/command-tree.ts"
import { parseCommandLine } from "./command-line/parse-command-line.ts"
import { asSentence } from "../base/sentence.ts"
import { EXIT_INTERRUPTED } from "../terminal/stop-signal.ts"
import type { Terminal } from "../terminal/terminal.ts"

const FAILED = 1
const USAGE = 2

export interface CommandLineOptions {
  readonly terminal: Terminal
  readonly environment: Environment
  readonly signal: AbortSignal
  /** Tests pass their own tree. */
  readonly tree?: CommandTree
}

/** Parses a command line, chooses the profile, loads the command and runs it. Returns the exit code. */
export async function runCommandLine(argv: readonly string[], options: CommandLineOptions): Promise<number> {
  const { terminal, tree = COMMAND_TREE } = options
  const line = parseCommandLine(argv, tree)
  switch (line.kind) {
    case "help": {
      const { renderHelp } = await import("./command-line/help.ts")
      terminal.styledLine(renderHelp(line.path, { tree, columns: terminal.columns, color: terminal.color }).trimEnd())
      return 0
    }
    case "version": {
      const { versionLine } = await import("./version.ts")
      terminal.line(versionLine())
      return 0
    }
    case "unavailable":
      terminal.errLine(`\`${line.what}\` is not available in this release yet. \`hermes --help\` lists what is.`)
      return FAILED
    case "replaced":
      terminal.errLine(`\`hermes ${line.path.join(" ")}\` has been replaced by \`${line.by}\`.`)
      return FAILED
    case "usage":
      return (await runCommandOfPlugin(argv, options)) ?? usageError(line.message, terminal)
    case "run":
      return runInProfile(argv, { ...options, tree })
    default:
      return assertNever(line)
  }
}

function usageError(message: string, terminal: Terminal): number {
  terminal.errLine(message)
  return USAGE
}

/** A first word that is not a command may be one that a plugin brings. Only a home with plugins is looked at. */
async function runCommandOfPlugin(argv: readonly string[], options: CommandLineOptions): Promise<number | undefined> {
  const { terminal, tree = COMMAND_TREE } = options
  const choice = chooseProfile(argv, options.environment)
  if (!choice.ok) return undefined
  const { argv: words, environment, home } = choice.value
  const isKnown = tree.commands.some(({ name, aliases = [] }) => name === words[0] || aliases.includes(words[0] ?? ""))
  if (isKnown || !existsSync(home.file("plugins"))) return undefined
  const { runPluginCliCommand } = await import("./plugin-cli-command.ts")
  return await runPluginCliCommand(words, { home, environment, terminal })
}

/** The profile flag may appear anywhere, so it is removed from the command line before the final parse. */
async function runInProfile(
  argv: readonly string[],
  options: CommandLineOptions & { readonly tree: CommandTree },
): Promise<number> {
  const { terminal, tree } = options
  const choice = chooseProfile(argv, options.environment)
  if (!choice.ok) {
    terminal.errLine(asSentence(choice.error.message))
    return 1
  }
  const { environment, home, warning } = choice.value
  const line = parseCommandLine(choice.value.argv, tree)
  if (line.kind !== "run") return runCommandLine(choice.value.argv, { ...options, environment })
  if (line.flags.has("profile")) {
    terminal.errLine(
      `\`${line.flags.text("profile") ?? ""}\` is not a valid profile name. Use at most 64 lower-case letters, digits, - and _.`,
    )
    return USAGE
  }
  if (warning !== undefined) terminal.errLine(asSentence(warning))
  return runCommand(line, { ...options, environment: withFlagVariables(environment, line.flags), home })
}

/** Sets the environment variables that these flags stand for, so that the settings and all child processes see them. */
function withFlagVariables(environment: Environment, flags: FlagValues): Environment {
  const given = Object.entries(FLAG_VARIABLES).filter(([flag]) => flags.has(flag))
  return given.length === 0
    ? environment
    : withVariables(environment, Object.fromEntries(given.map(([, name]) => [name, "1"])))
}

const FLAG_VARIABLES = {
  "ignore-user-config": "HERMES_IGNORE_USER_CONFIG",
  "ignore-rules": "HERMES_IGNORE_RULES",
  "safe-mode": "HERMES_SAFE_MODE",
  "accept-hooks": "HERMES_ACCEPT_HOOKS",
} as const

async function runCommand(
  line: {
    readonly path: readonly string[]
    readonly command: Command
    readonly flags: FlagValues
    readonly positionals: readonly string[]
  },
  options: CommandLineOptions & { readonly home: Home; readonly tree: CommandTree },
): Promise<number> {
  const { terminal, environment, home, signal, tree } = options
  const { path, command, flags, positionals } = line
  if (command.load === undefined) throw new Error(`the command ${path.join(" ")} has no code to load`)
  try {
    const { run } = await command.load()
    return await run({ path, flags, positionals, terminal, environment, home, tree, signal })
  } catch (error) {
    if (error instanceof CliError) {
      terminal.errLine(asSentence(error.message))
      return error.exitCode
    }
    if (signal.aborted) return EXIT_INTERRUPTED
    const { explainFailure } = await import("../admin/explain-failure.ts")
    const explanation = explainFailure(error)
    if (explanation !== undefined) {
      terminal.errLine(asSentence(explanation))
      return FAILED
    }
    const { reportCrash } = await import("./crash-report.ts")
    await reportCrash(error, { terminal, environment })
    return FAILED
  }
}
