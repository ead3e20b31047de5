import { CliError } from "../command.ts"
import type { Terminal } from "../../terminal/terminal.ts"

/** Asks before data is lost, unless the command line has -y; returns false when the user declines. Throws a `CliError` (exit 1) when there is no answer. */
export async function confirmed(
  question: string,
  options: { readonly terminal: Terminal; readonly assumed: boolean },
): Promise<boolean> {
  if (options.assumed) return true
  const answer = await options.terminal.confirm(question)
  if (answer === undefined) {
    const reason = options.terminal.stdinIsTty
      ? "it was not confirmed"
      : "this needs confirmation, but there is no terminal to ask on"
    throw new CliError(`Nothing was changed: ${reason}. Use -y to skip the question.`, { exitCode: 1 })
  }
  return answer
}
