import { isClaimed } from "../base/uncaught-error.ts"
import { processEnvironment } from "../config/environment.ts"
import { COMMAND_TREE } from "./command-table/command-tree.ts"
import { runCommandLine } from "./run-command-line.ts"
import { createNodeTerminal } from "../terminal/node-terminal.ts"
import { reportCrash } from "./crash-report.ts"
import { EXIT_HANGUP, EXIT_INTERRUPTED, isHangup, StoppedBySignal } from "../terminal/stop-signal.ts"

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** Runs a command line with the streams, signals, environment and last-resort error handlers of this process. */
export async function runOnProcess(argv: readonly string[], tree = COMMAND_TREE): Promise<number> {
  const environment = processEnvironment()
  const interruption = new AbortController()
  const dumb = environment.get("TERM") === "dumb"
  const terminal = createNodeTerminal({
    signal: interruption.signal,
    plain: Boolean(environment.get("NO_COLOR")) || dumb || hasFlag(argv, "--no-color"),
    dumb,
  })
  // Also when the process exits at once, nothing half-drawn stays on the screen.
  process.once("exit", () => terminal.live?.hide())
  listenForSignals(interruption)
  const crash = listenForCrash()
  let code: number
  try {
    code = await Promise.race([
      runCommandLine(argv, { terminal, environment, signal: interruption.signal, tree }),
      crash,
    ])
  } catch (error) {
    terminal.reclaim()
    await reportCrash(error, { terminal, environment })
    return 1
  }
  terminal.live?.hide()
  await terminal.flush()
  if (terminal.outputProblem !== undefined) {
    terminal.errLine(`Could not write to standard output: ${terminal.outputProblem}.`)
    await terminal.flush()
    return code === 0 ? 1 : code
  }
  if (!interruption.signal.aborted || code === 0 || code === EXIT_INTERRUPTED) return code
  return isHangup(interruption.signal) ? EXIT_HANGUP : EXIT_INTERRUPTED
}

/** How long a command may take to stop after the terminal was closed: no user is left who could send a second signal. */
const HANGUP_GRACE_MS = 15_000

/**
 * The first signal asks the command to stop; the second ends the process. A terminal that closes may send SIGHUP several times, by
 * the kernel and by the shell, so a further SIGHUP does not count.
 */
function listenForSignals(interruption: AbortController): void {
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (interruption.signal.aborted) {
        if (name !== "SIGHUP") process.exit(EXIT_INTERRUPTED)
        return
      }
      if (name === "SIGHUP") setTimeout(() => process.exit(EXIT_HANGUP), HANGUP_GRACE_MS).unref()
      interruption.abort(new StoppedBySignal(name))
    })
  }
}

/** Rejects when an error was thrown outside of awaited code, which is a bug, unless a plugin threw it. */
function listenForCrash(): Promise<never> {
  const crash = Promise.withResolvers<never>()
  const crashed = (error: unknown): void => {
    if (!isClaimed(error)) crash.reject(error)
  }
  process.on("uncaughtException", crashed)
  process.on("unhandledRejection", crashed)
  return crash.promise
}

function hasFlag(argv: readonly string[], flag: string): boolean {
  const end = argv.indexOf("--")
  return (end === -1 ? argv : argv.slice(0, end)).includes(flag)
}
