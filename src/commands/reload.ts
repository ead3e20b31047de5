import { counted } from "../base/counted.ts"
import { reply, type SlashCommand } from "./slash-command.ts"

/** `/reload`: reads `.env` again. */
export const reloadCommand: SlashCommand = {
  name: "reload",
  category: "tools",
  help: "read the keys of .env again",
  details: "A changed key is used by the next /model; the model of this conversation keeps its key until then.",
  idleOnly: true,
  run: (_argument, { app }) => {
    const { changed, warnings } = app.reloadEnvironment()
    const text = changed === 0 ? "Nothing in .env has changed." : `${counted(changed, "variable")} of .env changed.`
    return Promise.resolve(reply([text, ...warnings].join("\n")))
  },
}
