import type { UndoReport } from "../app/session/undo.ts"
import { assertNever } from "../base/assert-never.ts"
import { ellipsize } from "../base/text.ts"
import { reply, type SlashCommand } from "./slash-command.ts"

const MAX_SHOWN_CHARS = 200

/** `/undo`: removes the last user message and everything after it from the conversation. Files stay as they are. */
export const undoCommand: SlashCommand = {
  name: "undo",
  help: "remove your last message and the reply; files do not change",
  idleOnly: true,
  run: async (_argument, { session }) => {
    return reply(undoText(await session.undo()))
  },
}

function undoText(report: UndoReport): string {
  switch (report.kind) {
    case "removed":
      return `Removed: ${ellipsize(report.text.replaceAll(/\s+/gu, " "), MAX_SHOWN_CHARS)}`
    case "nothing":
      return "There is nothing to undo."
    case "compressed":
      return "There is nothing to undo since the conversation was compressed: the earlier messages are now a summary. `hermes sessions tree` shows the session that has them in full."
    default:
      return assertNever(report)
  }
}
