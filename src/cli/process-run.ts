import { processEnvironment } from "../config/environment.ts"
import { COMMAND_TREE } from "./command-table/command-tree.ts"
import { runCommandLine } from "./run-command-line.ts"
import { createNodeTerminal } from "./terminal/node-terminal.ts"
import { reportCrash } from "./crash-report.ts"

const INTERRUPTED = 130
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** Runs a command line with the streams, signals, environment and last-resort error handlers of this process. */
export async function runOnProcess(argv: readonly string[], tree = COMMAND_TREE): Promise<number> {
  const environment = processEnvironment()
  const interruption = new AbortController()
  const terminal = createNodeTerminal({
    signal: interruption.signal,
    plain: Boolean(environment.get("NO_COLOR")) || environment.get("TERM") === "dumb" || hasFlag(argv, "--no-color"),
  })
  listenForSignals(interruption)
  const crash = listenForCrash()
  let code: number
  try {
    code = await Promise.race([
      runCommandLine(argv, { terminal, environment, signal: interruption.signal, tree }),
      crash,
    ])
  } catch (error) {
    await reportCrash(error, { terminal, environment })
    return 1
  }
  await terminal.flush()
  if (terminal.outputProblem !== undefined) {
    terminal.errLine(`Could not write to standard output: ${terminal.outputProblem}.`)
    await terminal.flush()
    return code === 0 ? 1 : code
  }
  return interruption.signal.aborted && code !== 0 ? INTERRUPTED : code
}

/** The first signal asks the command to stop; the second ends the process. */
function listenForSignals(interruption: AbortController): void {
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (interruption.signal.aborted) process.exit(INTERRUPTED)
      interruption.abort(new DOMException(`stopped by ${name}`, "AbortError"))
    })
  }
}

/** Rejects when an error was thrown outside of awaited code, which is a bug. */
function listenForCrash(): Promise<never> {
  const crash = Promise.withResolvers<never>()
  process.on("uncaughtException", crash.reject)
  process.on("unhandledRejection", crash.reject)
  return crash.promise
}

function hasFlag(argv: readonly string[], flag: string): boolean {
  const end = argv.indexOf("--")
  return (end === -1 ? argv : argv.slice(0, end)).includes(flag)
}
