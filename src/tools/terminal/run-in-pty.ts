import { errorMessage } from "../../base/system-error.ts"
import { BoundedOutput } from "../../exec/bounded-output.ts"
import { LiveOutput } from "../../exec/live-output.ts"
import type {
  BackgroundCommand,
  CommandExit,
  ExitStatus,
  RunningCommand,
  RunCommandOptions,
} from "../../exec/workspace.ts"
import type { ToolContext } from "../../toolkit/tool.ts"

/** An interrupted call returns within 100 ms, even when the program needs longer to exit. */
const MAX_WAIT_AFTER_INTERRUPT_MS = 50

/** Runs a program in a pseudo-terminal until it exits. It starts with the shell state of the session but does not change it. */
export function runInPty(command: string, options: RunCommandOptions, context: ToolContext): RunningCommand {
  const kept = new BoundedOutput(options.keepChars)
  const live = new LiveOutput()
  const onOutput = (text: string): void => {
    const plain = text.replaceAll("\r\n", "\n")
    kept.push(plain)
    live.push(plain)
  }
  const run = async (): Promise<CommandExit> => {
    const cwdOption = options.cwd === undefined ? {} : { cwd: options.cwd }
    try {
      const program = await context.workspace.start(command, { ...cwdOption, pty: true, onOutput })
      const ending = await endOf(program, options, context)
      return { ...ending, output: kept.toString(), omittedChars: kept.omittedChars }
    } catch (error) {
      return { how: "failed-to-start", code: -1, error: errorMessage(error), output: "", omittedChars: 0 }
    } finally {
      live.end()
    }
  }
  return { output: live, exit: run() }
}

async function endOf(
  program: BackgroundCommand,
  { timeoutMs, signal }: RunCommandOptions,
  { clock }: ToolContext,
): Promise<ExitStatus> {
  const enough = new AbortController()
  const stopped = clock.sleep(timeoutMs, { signal: AbortSignal.any([signal, enough.signal]) }).then(
    () => ({ how: "timed-out", code: 124 }) as const,
    () => ({ how: "interrupted", code: 130 }) as const,
  )
  const ending = await Promise.race([program.exit, stopped])
  enough.abort()
  if (ending.how === "timed-out") await program.kill()
  if (ending.how === "interrupted") {
    await Promise.race([
      program.kill(),
      clock.sleep(MAX_WAIT_AFTER_INTERRUPT_MS, { signal: new AbortController().signal }),
    ])
  }
  return ending
}
