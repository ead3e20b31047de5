import { CliError } from "./command.ts"
import type { Terminal } from "./terminal.ts"

/** Asks before something is lost. Gives false when the person says no; without anybody to ask it is refused (exit 1). */
export async function confirmed(
  question: string,
  options: { readonly terminal: Terminal; readonly assumed: boolean; readonly flag: string },
): Promise<boolean> {
  if (options.assumed) return true
  const answer = await options.terminal.confirm(question)
  if (answer === undefined) {
    throw new CliError(
      `Nothing was changed, because nobody confirmed it. Use ${options.flag} to go ahead without asking.`,
      { exitCode: 1 },
    )
  }
  return answer
}
