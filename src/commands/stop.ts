import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/stop`: interrupts the current reply, as Ctrl+C does, and ends sub-agents in the background. */
export const stopCommand: SlashCommand = {
  name: "stop",
  help: "interrupt the current reply and background sub-agents",
  run: stop,
}

function stop(_argument: string, { app, session, running }: SlashContext): Promise<SlashOutcome> {
  const stopped = app.subAgents.stopAll("background")
  const agents = stopped === 1 ? "1 sub-agent in the background" : `${stopped} sub-agents in the background`
  // An interrupt while nothing is running would end the next turn instead.
  if (running) session.interrupt()
  if (stopped > 0) return Promise.resolve(reply(running ? `Stopping, with ${agents}.` : `Stopping ${agents}.`))
  return Promise.resolve(reply(running ? "Stopping." : "Nothing is running."))
}
