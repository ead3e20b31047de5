import { CliError, type CommandRun, type FlagValues, type Invocation } from "../../command.ts"
import { run as list } from "./list.ts"

/** `hermes auth`: lists the credentials, then runs one action after the other until the user leaves. */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  if (!terminal.stdinIsTty) {
    throw new CliError(
      "There is no terminal to ask questions on; use subcommands such as `hermes auth list` and `hermes auth add PROVIDER --api-key KEY`, see `hermes auth --help`",
      { exitCode: 1 },
    )
  }
  const step = { ...invocation, flags: NO_FLAGS }
  await list({ ...step, positionals: [] })
  for (;;) {
    const answer =
      (await terminal.ask(`Action (${Object.keys(ACTIONS).join(", ")}; press Enter to leave): `))?.trim() ?? ""
    if (answer === "" || invocation.signal.aborted) return 0
    const action = ACTIONS[answer]
    if (action === undefined) terminal.errLine("That is not one of the actions.")
    else await act(action, step)
  }
}

interface Action {
  readonly questions: readonly string[]
  readonly load: () => Promise<{ readonly run: CommandRun }>
}

const ACTIONS: Readonly<Record<string, Action>> = {
  list: { questions: [], load: () => import("./list.ts") },
  add: { questions: ["Provider: "], load: () => import("./add.ts") },
  remove: { questions: ["Provider: ", "Number, id or label: "], load: () => import("./remove.ts") },
  reset: { questions: ["Provider: "], load: () => import("./reset.ts") },
  logout: { questions: ["Provider: "], load: () => import("./log-out.ts") },
  strategy: {
    questions: ["Provider: ", "fill_first, round_robin, random or least_used: "],
    load: () => import("./strategy.ts"),
  },
}

/** Prints a mistake and returns, so that the user can choose again. */
async function act(action: Action, invocation: Invocation): Promise<void> {
  const positionals: string[] = []
  for (const question of action.questions) {
    const word = (await invocation.terminal.ask(question))?.trim() ?? ""
    if (word === "") return
    positionals.push(word)
  }
  try {
    const { run: perform } = await action.load()
    await perform({ ...invocation, positionals })
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    invocation.terminal.errLine(error.message)
  }
}

const NO_FLAGS: FlagValues = { has: () => false, text: () => undefined, texts: () => [], number: () => undefined }
