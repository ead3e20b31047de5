import { assertNever } from "../base/assert-never.ts"
import type { TitleOutcome } from "../state/store.ts"
import { reply, type SlashCommand } from "./slash-command.ts"

/** `/title`: shows or sets the title of the session. */
export const titleCommand: SlashCommand = {
  name: "title",
  category: "conversation",
  help: "show or set the title of this session",
  argument: "[TITLE]",
  run: async (argument, { session }) => {
    if (argument === "") return reply((await session.title()) ?? "This session has no title yet.")
    return reply(titleText(await session.setTitle(argument)))
  },
}

export function titleText(outcome: TitleOutcome): string {
  switch (outcome.kind) {
    case "set":
      return outcome.title === null ? "The session has no title." : `The title is now "${outcome.title}".`
    case "too-long":
      return `The title is too long: ${outcome.length} characters, the limit is ${outcome.limit}.`
    case "taken":
      return `Session ${outcome.by} already has this title or id.`
    case "no-session":
      return "This conversation is not saved, so it has no title."
    default:
      return assertNever(outcome)
  }
}
