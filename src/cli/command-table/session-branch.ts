import type { Command } from "../command.ts"
import { integer, text } from "./flag.ts"

export const SESSION_BRANCH_COMMAND: Command = {
  name: "branch",
  aliases: ["fork"],
  summary: "copy a session, or its messages up to an earlier one, into a new session",
  group: "sessions",
  positionals: [
    { name: "ID", summary: "id, start of an id, or title", required: true, rest: true, complete: "session" },
  ],
  flags: [
    integer("from", "last message to copy; `sessions show ID --json` shows the numbers", { value: "MESSAGE", min: 1 }),
    text("title", "title of the copy", { value: "TITLE" }),
  ],
  load: () => import("../commands/sessions/branch.ts"),
}
