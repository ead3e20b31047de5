import type { Invocation } from "../command.ts"
import { CliError } from "../command.ts"
import { askModel } from "../commands/setup.ts"

const OFFER = "No model is connected yet. Connect one now (c), or go on with the demo, which is not an AI (Enter)? "

/** Whoever has no model may connect one here and now. True when that has been done and the settings are others than before. */
export async function connectsModel(invocation: Invocation): Promise<boolean> {
  const { terminal } = invocation
  const answer = (await terminal.ask(OFFER))?.trim() ?? ""
  if (!/^(c|connect|y|yes|1)$/i.test(answer)) return false
  try {
    await askModel(invocation)
    return true
  } catch (error) {
    // Changing one's mind halfway is no reason to be thrown out.
    if (!(error instanceof CliError)) throw error
    terminal.errLine(error.message)
    return false
  }
}
