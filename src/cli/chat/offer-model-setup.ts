import type { ChoiceList, PickChoice } from "../../commands/choice-list.ts"
import type { Invocation } from "../command.ts"
import { CliError } from "../command.ts"

const NO_MODEL = "No model is connected yet."
const OFFER = `${NO_MODEL} Connect one now (c), or use the demo, which is not an AI (Enter)? `

/**
 * "connected": the settings have changed. "left": the user pressed Esc, Ctrl+C or Ctrl+D. Any other reply is the first message of the
 * conversation; empty for none.
 */
export type ModelSetupOutcome = "connected" | "left" | { readonly firstMessage: string }

/** Offers a user without a model to connect one: in lists, or line by line. */
export async function offerModelSetup(
  invocation: Invocation,
  pick: PickChoice | undefined,
): Promise<ModelSetupOutcome> {
  const { terminal } = invocation
  if (!terminal.stdinIsTty || !(terminal.stdoutIsTty || terminal.stderrIsTty)) return { firstMessage: "" }
  return pick === undefined ? await askByLine(invocation) : await offerList(invocation, pick)
}

async function askByLine(invocation: Invocation): Promise<ModelSetupOutcome> {
  const { terminal } = invocation
  const answer = (await terminal.ask(OFFER))?.trim()
  if (answer === undefined || /^(?:exit|quit)$/i.test(answer)) return "left"
  if (!/^(c|connect|y|yes|1)$/i.test(answer)) return { firstMessage: /^(n|no|d|demo|2|3)$/i.test(answer) ? "" : answer }
  try {
    const { askModel } = await import("../commands/setup.ts")
    await askModel(invocation)
    return "connected"
  } catch (error) {
    return cancelled(error, invocation)
  }
}

/** A user who cancels the setup continues with the demo. */
function cancelled(error: unknown, { terminal, signal }: Invocation): ModelSetupOutcome {
  if (!(error instanceof CliError)) throw error
  if (signal.aborted) return "left"
  terminal.errLine(error.message)
  return { firstMessage: "" }
}

type FirstChoice = { readonly kind: "connect" | "demo" } | { readonly kind: "message"; readonly text: string }

const FIRST_LIST: ChoiceList<FirstChoice> = {
  title: NO_MODEL,
  hint: "Enter chooses; or type your first message, for the demo",
  load: () =>
    Promise.resolve({
      choices: [
        { value: { kind: "demo" }, label: "Use the demo", description: "to look around; it is not an AI" },
        { value: { kind: "connect" }, label: "Connect a model", description: "with a key from a provider" },
      ],
    }),
  freeEntry: (text) => ({ kind: "message", text }),
  // A message may contain words of the entries.
  prefersTyped: () => true,
}

async function offerList(invocation: Invocation, pick: PickChoice): Promise<ModelSetupOutcome> {
  for (;;) {
    const first = (await pick(FIRST_LIST))?.value
    if (first === undefined || invocation.signal.aborted) return "left"
    if (first.kind === "demo") return { firstMessage: "" }
    if (first.kind === "message") return /^(?:exit|quit)$/iu.test(first.text) ? "left" : { firstMessage: first.text }
    const { pickFirstModel } = await import("./pick-first-model.ts")
    try {
      if (await pickFirstModel(invocation, pick)) return "connected"
    } catch (error) {
      return cancelled(error, invocation)
    }
  }
}
