import { deleteSessionAndPastes } from "../app/services/delete-session.ts"
import { discardArgument, mayDiscard } from "./discard.ts"
import { reply, type SlashCommand } from "./slash-command.ts"

/** `/quit`: ends the conversation, and with `--delete` removes it. */
export const quitCommand: SlashCommand = {
  name: "quit",
  aliases: ["exit"],
  category: "conversation",
  help: "quit Hermes; --delete also deletes this session",
  argument: "[--delete]",
  run: async (argument, context) => {
    const { app, session } = context
    const { text, isConfirmed } = discardArgument(argument)
    if (text !== "--delete") return text === "" ? { kind: "quit" } : reply("Usage: /quit, or /quit --delete.")
    const { id } = session
    // Also a conversation in which every message was undone is stored.
    if ((await (await app.store()).session(id)) === undefined) return { kind: "quit" }
    const question = "Delete this session and all its messages? This cannot be undone."
    if (!(await mayDiscard(question, { isConfirmed }, context))) return reply("The session was not deleted.")
    return {
      kind: "quit",
      afterClose: async () => {
        const isDeleted = await deleteSessionAndPastes(await app.store(), id, app.home)
        return isDeleted ? `Deleted session ${id}.` : `Session ${id} had already been deleted.`
      },
    }
  },
}
