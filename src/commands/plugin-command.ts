import { orAborted } from "../base/abort.ts"
import { errorMessage } from "../base/system-error.ts"
import { reply, type SlashContext, type SlashOutcome } from "./slash-command.ts"

const LIMIT_MS = 30_000

/** Runs the slash command of a plugin. Undefined when no plugin has one of this name. */
export async function runPluginCommand(
  name: string,
  argument: string,
  { app, signal }: SlashContext,
): Promise<SlashOutcome | undefined> {
  const command = app.pluginCommands().find((candidate) => candidate.name === name)
  if (command === undefined) return undefined
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  try {
    const answer = await orAborted(
      Promise.resolve(command.handler(argument)).then((text) => ({ text })),
      limit,
    )
    if (answer === undefined) return reply(`/${name} was stopped: it did not answer within ${LIMIT_MS / 1000} seconds.`)
    return reply(typeof answer.text === "string" ? app.redactor.redact(answer.text) : "")
  } catch (error) {
    return reply(`/${name} failed: ${errorMessage(error)}`)
  }
}
