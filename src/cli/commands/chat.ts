import { chooseInterface } from "../chat/choose-interface.ts"
import type { Invocation } from "../command.ts"

/** Runs `hermes`, `hermes chat`, `-q`, `-z` and piped prompts. */
export async function run(invocation: Invocation): Promise<number> {
  const code = await chat(invocation)
  return code === "connected" ? await run(invocation) : code
}

/** The first frame of the full interface is drawn before anything else is loaded. What the user types meanwhile is not lost. */
async function chat(invocation: Invocation): Promise<number | "connected"> {
  const chosen = chooseInterface(invocation)
  if (chosen === "lines") {
    const { runChat } = await import("../chat/run-chat.ts")
    return await runChat(invocation)
  }
  const { openFullUi } = await import("../../tui/full/full-ui.ts")
  const full = openFullUi({ ...invocation, lines: invocation.terminal })
  try {
    await full.painted
    const { runChat } = await import("../chat/run-chat.ts")
    return await runChat({ ...invocation, terminal: full.terminal }, { full, chosen })
  } finally {
    full.close()
  }
}
