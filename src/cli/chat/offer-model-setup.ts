import { typedServerAddress } from "../../base/typed-server-address.ts"
import type { Choice, ChoiceList, PickChoice } from "../../commands/choice-list.ts"
import type { Invocation } from "../command.ts"
import { CliError } from "../command.ts"

const NO_MODEL = "No model is connected yet."
const OFFER = `${NO_MODEL} Connect one now (c), type the address of a model server, or use the demo, which is not an AI (Enter)? `

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
  const address = typedServerAddress(answer)
  if (address === undefined && !/^(c|connect|y|yes|1)$/i.test(answer))
    return { firstMessage: /^(n|no|d|demo|2|3)$/i.test(answer) ? "" : answer }
  try {
    const { askModel } = await import("../commands/setup.ts")
    await askModel(invocation, address)
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

const FIRST_CHOICES: readonly Choice<FirstChoice>[] = [
  { value: { kind: "demo" }, label: "Use the demo", description: "to look around; it is not an AI" },
  {
    value: { kind: "connect" },
    label: "Connect a model",
    description: "with a key from a provider, or on a server of your own",
  },
]

const FIRST_LIST: ChoiceList<FirstChoice> = {
  title: NO_MODEL,
  hint: "Enter chooses",
  typedText: "type a first message for the demo, or the address of a model server",
  load: () => Promise.resolve({ choices: FIRST_CHOICES }),
  freeEntry: (text) => ({ kind: "message", text }),
  // A message may contain words of the entries.
  prefersTyped: () => true,
}

async function offerList(invocation: Invocation, pick: PickChoice): Promise<ModelSetupOutcome> {
  let list = FIRST_LIST
  for (;;) {
    const first = (await pick(list))?.value
    list = FIRST_LIST
    if (first === undefined || invocation.signal.aborted) return "left"
    if (first.kind === "demo") return { firstMessage: "" }
    const address = first.kind === "message" ? typedServerAddress(first.text) : undefined
    if (first.kind === "message" && address === undefined)
      return /^(?:exit|quit)$/iu.test(first.text) ? "left" : { firstMessage: first.text }
    const { pickFirstModel, pickServerModel } = await import("./pick-first-model.ts")
    try {
      if (address === undefined) {
        if (await pickFirstModel(invocation, pick)) return "connected"
        continue
      }
      const { connected, problem: note } = await pickServerModel(invocation, pick, address)
      if (connected) return "connected"
      if (note !== undefined) list = { ...FIRST_LIST, load: () => Promise.resolve({ choices: FIRST_CHOICES, note }) }
    } catch (error) {
      return cancelled(error, invocation)
    }
  }
}
