import { ellipsize } from "../base/text.ts"
import { reply, type SlashCommand } from "./slash-command.ts"

const MAX_SHOWN_CHARS = 200

/** `/undo`: removes the last user message and everything after it from the conversation. Files stay as they are. */
export const undoCommand: SlashCommand = {
  name: "undo",
  help: "remove your last message and the reply; files do not change",
  idleOnly: true,
  run: async (_argument, { session }) => {
    const removed = await session.undo()
    return reply(
      removed === undefined
        ? "There is nothing to undo."
        : `Removed: ${ellipsize(removed.replaceAll(/\s+/gu, " "), MAX_SHOWN_CHARS)}`,
    )
  },
}
