import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/stop`: ends the running answer, as Ctrl+C does. */
export const stopCommand: SlashCommand = { name: "stop", help: "stop the running answer", run: stop }

function stop(_argument: string, { session, running }: SlashContext): Promise<SlashOutcome> {
  // An interrupt with nothing running would end the next answer instead.
  if (!running) return Promise.resolve({ kind: "say", text: "Nothing is running." })
  session.interrupt()
  return Promise.resolve({ kind: "say", text: "Stopping." })
}
