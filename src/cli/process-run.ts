import { processEnvironment } from "../config/environment.ts"
import { COMMAND_TREE } from "./command-table.ts"
import { dispatch } from "./dispatch.ts"
import { createNodeTerminal } from "./node-terminal.ts"
import { reportCrash } from "./crash-report.ts"

const INTERRUPTED = 130
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** Binds one command line to this process: its streams, signals, environment and last-resort error handlers. */
export async function runOnProcess(argv: readonly string[], tree = COMMAND_TREE): Promise<number> {
  const environment = processEnvironment()
  const interruption = new AbortController()
  const terminal = createNodeTerminal({
    signal: interruption.signal,
    plain: Boolean(environment.get("NO_COLOR")) || environment.get("TERM") === "dumb" || givesFlag(argv, "--no-color"),
  })
  listenForSignals(interruption)
  const crash = listenForCrash()
  let code: number
  try {
    code = await Promise.race([dispatch(argv, { terminal, environment, signal: interruption.signal, tree }), crash])
  } catch (error) {
    await reportCrash(error, { terminal, environment })
    return 1
  }
  await terminal.flush()
  if (terminal.outputProblem !== undefined) {
    terminal.errLine(`Could not write the output: ${terminal.outputProblem}.`)
    await terminal.flush()
    return code === 0 ? 1 : code
  }
  return interruption.signal.aborted && code !== 0 ? INTERRUPTED : code
}

/** The first signal asks the command to stop, the second does not ask. */
function listenForSignals(interruption: AbortController): void {
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (interruption.signal.aborted) process.exit(INTERRUPTED)
      interruption.abort(new DOMException(`stopped by ${name}`, "AbortError"))
    })
  }
}

/** Rejects on a bug in work that nobody awaited. */
function listenForCrash(): Promise<never> {
  const crash = Promise.withResolvers<never>()
  process.on("uncaughtException", crash.reject)
  process.on("unhandledRejection", crash.reject)
  return crash.promise
}

function givesFlag(argv: readonly string[], flag: string): boolean {
  const end = argv.indexOf("--")
  return (end === -1 ? argv : argv.slice(0, end)).includes(flag)
}
