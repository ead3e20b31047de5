import type { Invocation } from "../command.ts"
import { CliError } from "../command.ts"

const OFFER = "No model is connected yet. Connect one now (c), or use the demo, which is not an AI (Enter)? "

/**
 * "connected": the settings have changed. "left": the user pressed Ctrl+C or Ctrl+D. Any other reply is the first message of the
 * conversation; empty for none.
 */
export type ModelSetupOutcome = "connected" | "left" | { readonly firstMessage: string }

/** Offers a user without a model to connect one. */
export async function offerModelSetup(invocation: Invocation): Promise<ModelSetupOutcome> {
  const { terminal, signal } = invocation
  if (!terminal.stdinIsTty || !(terminal.stdoutIsTty || terminal.stderrIsTty)) return { firstMessage: "" }
  const answer = (await terminal.ask(OFFER))?.trim()
  if (answer === undefined || /^(?:exit|quit)$/i.test(answer)) return "left"
  if (!/^(c|connect|y|yes|1)$/i.test(answer)) return { firstMessage: /^(n|no|d|demo|2|3)$/i.test(answer) ? "" : answer }
  try {
    const { askModel } = await import("../commands/setup.ts")
    await askModel(invocation)
    return "connected"
  } catch (error) {
    // A user who cancels the setup continues with the demo.
    if (!(error instanceof CliError)) throw error
    if (signal.aborted) return "left"
    terminal.errLine(error.message)
    return { firstMessage: "" }
  }
}
