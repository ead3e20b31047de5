import type { App } from "../app/app.ts"
import type { Session } from "../app/session/session.ts"
import { counted } from "../base/counted.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/stop`: interrupts the current reply, as Ctrl+C does, and ends what this conversation runs in the background. */
export const stopCommand: SlashCommand = {
  name: "stop",
  category: "conversation",
  help: "interrupt the current reply, and end background processes and sub-agents",
  run: stop,
}

async function stop(_argument: string, { app, session, running }: SlashContext): Promise<SlashOutcome> {
  // An interrupt while nothing is running would end the next turn instead.
  if (running) session.interrupt()
  const agents = app.subAgents.stopAll("background")
  const processes = await killProcesses(app, session)
  const others = [
    ...(agents === 0 ? [] : [`${counted(agents, "sub-agent")} in the background`]),
    ...(processes === 0 ? [] : [processes === 1 ? "1 background process" : `${processes} background processes`]),
  ].join(" and ")
  if (others !== "") return reply(running ? `Stopping, with ${others}.` : `Stopping ${others}.`)
  return reply(running ? "Stopping." : "Nothing is running.")
}

/** Those of other conversations go on. */
async function killProcesses(app: Pick<App, "processes">, { id }: Pick<Session, "id">): Promise<number> {
  const registry = await app.processes.open()
  const running = registry.list(id).filter(({ state }) => state.status === "running")
  await Promise.all(running.map((view) => registry.kill(view.id, "the user")))
  return running.length
}
