import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/stop`: interrupts the current reply, as Ctrl+C does. */
export const stopCommand: SlashCommand = { name: "stop", help: "interrupt the current reply", run: stop }

function stop(_argument: string, { session, running }: SlashContext): Promise<SlashOutcome> {
  // An interrupt while nothing is running would end the next turn instead.
  if (!running) return Promise.resolve(reply("Nothing is running."))
  session.interrupt()
  return Promise.resolve(reply("Stopping."))
}
