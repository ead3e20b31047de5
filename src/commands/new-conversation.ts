import { discardArgument, mayDiscard } from "./discard.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"
import { titleText } from "./title.ts"

/** `/new`: starts a new conversation. The one before stays stored. */
export const newCommand: SlashCommand = {
  name: "new",
  aliases: ["reset"],
  category: "conversation",
  help: "start a new conversation",
  argument: "[TITLE]",
  details: "The conversation before stays stored; /resume continues it. Add now to skip the question.",
  run: (argument, context) => startNew(argument, context),
}

/** `/clear`: the same, on an empty screen. */
export const clearCommand: SlashCommand = {
  name: "clear",
  category: "conversation",
  help: "start a new conversation on an empty screen",
  argument: "[now]",
  details: "What was on the screen stays in the scrollback. Add now to skip the question.",
  run: async (argument, context) => {
    const outcome = await startNew(argument, context)
    return outcome.kind === "switch" ? { ...outcome, clearsScreen: true } : outcome
  },
}

async function startNew(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { session, open } = context
  const { text: title, isConfirmed } = discardArgument(argument)
  const question = "Leave this conversation and start a new one? It stays stored."
  // An empty conversation is not worth a question.
  if (session.isStored && !(await mayDiscard(question, { isConfirmed }, context)))
    return reply("The conversation goes on.")
  const next = await open(undefined)
  const titled = title === "" ? "" : ` ${titleText(await next.setTitle(title))}`
  return { kind: "switch", session: next, text: `Started a new conversation.${titled}` }
}
