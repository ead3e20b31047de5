import type { UndoReport } from "../app/session/undo.ts"
import { assertNever } from "../base/assert-never.ts"
import { counted } from "../base/counted.ts"
import { ellipsize } from "../base/text.ts"
import { discardArgument, mayDiscard } from "./discard.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

const MAX_SHOWN_CHARS = 200

/** `/undo`: goes back by user messages. Files stay as they are; the text of the message returns to the editor. */
export const undoCommand: SlashCommand = {
  name: "undo",
  category: "conversation",
  help: "remove your last N messages and the replies; files do not change",
  argument: "[N | list]",
  details:
    "The text of the earliest removed message returns to the editor. list shows your messages. Add -y to skip the question.",
  idleOnly: true,
  run: undo,
}

/** `/retry`: sends the last message again. */
export const retryCommand: SlashCommand = {
  name: "retry",
  category: "conversation",
  help: "remove the last reply and send your message again; files do not change",
  idleOnly: true,
  run: async (_argument, { session }) => {
    const report = await session.undo()
    if (report.kind !== "removed") return reply(nothingText(report))
    return { kind: "send", text: report.text, images: report.images, typed: true }
  },
}

async function undo(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { text, isConfirmed } = discardArgument(argument)
  if (text.toLowerCase() === "list" && context.pick !== undefined) {
    const { messageList } = await import("./lists/message-list.ts")
    const picked = await context.pick(messageList(context))
    return picked === undefined ? NOTHING_CHOSEN : await goBack(picked.value.turns, context)
  }
  if (text !== "" && !/^[1-9]\d{0,3}$/u.test(text)) return reply("Usage: /undo, or /undo N for your last N messages.")
  const turns = text === "" ? 1 : Number(text)
  const question = `Remove ${turns === 1 ? "your last message" : `your last ${turns} messages`} and everything after? Files do not change.`
  if (!context.session.isStored) return reply(nothingText({ kind: "nothing" }))
  return (await mayDiscard(question, { isConfirmed }, context))
    ? await goBack(turns, context)
    : reply("Nothing was removed.")
}

async function goBack(turns: number, { session }: SlashContext): Promise<SlashOutcome> {
  let draft: string | undefined
  let removed = 0
  let last: UndoReport = { kind: "nothing" }
  while (removed < turns) {
    last = await session.undo()
    if (last.kind !== "removed") break
    draft = last.text
    removed += 1
  }
  if (draft === undefined) return reply(nothingText(last))
  const less = removed < turns ? " There were no more." : ""
  const shown = ellipsize(draft.replaceAll(/\s+/gu, " "), MAX_SHOWN_CHARS)
  const text =
    removed === 1 ? `Removed: ${shown}` : `Removed ${counted(removed, "message")} of yours, back to: ${shown}`
  return { kind: "edit", draft, text: `${text}${less}` }
}

function nothingText(report: UndoReport): string {
  switch (report.kind) {
    case "nothing":
    case "removed":
      return "There is nothing to undo."
    case "compressed":
      return "There is nothing to undo since the conversation was compressed: the earlier messages are now a summary. `hermes sessions tree` shows the session that has them in full."
    default:
      return assertNever(report)
  }
}
