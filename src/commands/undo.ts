import { ellipsize } from "../base/text.ts"
import type { SlashCommand } from "./slash-command.ts"

const MAX_SHOWN_CHARS = 200

/** `/undo`: takes the last message and everything that came of it out of the conversation. Files stay as they are. */
export const undoCommand: SlashCommand = {
  name: "undo",
  help: "take back your last message and its answer; files stay",
  idle: true,
  run: async (_argument, { session }) => {
    const words = await session.undo()
    return {
      kind: "say",
      text:
        words === undefined
          ? "There is nothing to take back."
          : `Taken back: ${ellipsize(words.replaceAll(/\s+/gu, " "), MAX_SHOWN_CHARS)}`,
    }
  },
}
