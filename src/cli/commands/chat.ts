import { chooseInterface } from "../chat/choose-interface.ts"
import type { DrawnUi } from "../chat/run-chat.ts"
import type { Invocation } from "../command.ts"

/**
 * Runs `hermes`, `hermes chat`, `-q`, `-z` and piped prompts. The first frame of the full interface is drawn before anything else is
 * loaded. What the user types meanwhile is not lost.
 */
export async function run(invocation: Invocation): Promise<number> {
  const chosen = chooseInterface(invocation)
  if (chosen === "lines") return await chat(invocation)
  const { openFullUi } = await import("../../tui/full/full-ui.ts")
  const full = openFullUi({ ...invocation, lines: invocation.terminal })
  try {
    await full.painted
    return await chat({ ...invocation, terminal: full.terminal }, { full, chosen })
  } finally {
    full.close()
  }
}

/** A user who connects a model first begins again with the new settings. */
async function chat(invocation: Invocation, drawn?: DrawnUi): Promise<number> {
  const { runChat } = await import("../chat/run-chat.ts")
  const code = await runChat(invocation, drawn)
  return code === "connected" ? await chat(invocation, drawn) : code
}
