import { errorMessage } from "../../base/system-error.ts"
import { BoundedOutput } from "../../exec/bounded-output.ts"
import { LiveOutput } from "../../exec/live-output.ts"
import type { BackgroundCommand, CommandExit, RunningCommand, RunOptions } from "../../exec/workspace.ts"
import type { ToolContext } from "../../toolkit/tool.ts"

/** Whoever interrupts gets an answer within 100 ms, also from a program that takes its time to leave. */
const ANSWER_AFTER_INTERRUPT_MS = 50

/** Runs a program that wants a terminal to its end. It starts in the state of the conversation and leaves none. */
export function runInTerminal(command: string, options: RunOptions, context: ToolContext): RunningCommand {
  const kept = new BoundedOutput(options.keepChars)
  const live = new LiveOutput()
  const onOutput = (text: string): void => {
    const plain = text.replaceAll("\r\n", "\n")
    kept.push(plain)
    live.push(plain)
  }
  const run = async (): Promise<CommandExit> => {
    const place = options.cwd === undefined ? {} : { cwd: options.cwd }
    try {
      const program = await context.workspace.start(command, { ...place, pty: true, onOutput })
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
  { timeoutMs, signal }: RunOptions,
  { clock }: ToolContext,
): Promise<Pick<CommandExit, "how" | "code" | "error">> {
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
      clock.sleep(ANSWER_AFTER_INTERRUPT_MS, { signal: new AbortController().signal }),
    ])
  }
  return ending
}
