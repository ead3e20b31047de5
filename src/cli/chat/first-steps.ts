import type { Invocation } from "../command.ts"
import { CliError } from "../command.ts"
import { askModel } from "../commands/setup.ts"

const OFFER = "No model is connected yet. Connect one now (c), or go on with the demo, which is not an AI (Enter)? "

/** "connected": the settings are others than before. Otherwise what the person has said instead of an answer: the first message. */
export type FirstStep = "connected" | { readonly words: string }

/** Whoever has no model may connect one here and now. */
export async function takeFirstStep(invocation: Invocation): Promise<FirstStep> {
  const { terminal } = invocation
  const answer = (await terminal.ask(OFFER))?.trim() ?? ""
  if (!/^(c|connect|y|yes|1)$/i.test(answer)) return { words: /^(n|no|d|demo|2|3)$/i.test(answer) ? "" : answer }
  try {
    await askModel(invocation)
    return "connected"
  } catch (error) {
    // Changing one's mind halfway is no reason to be thrown out.
    if (!(error instanceof CliError)) throw error
    terminal.errLine(error.message)
    return { words: "" }
  }
}
