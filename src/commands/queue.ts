import { reply, type SlashCommand } from "./slash-command.ts"

/** `/queue`: sends a message after the current reply, for every value of `display.busy_input_mode`. */
export const queueCommand: SlashCommand = {
  name: "queue",
  category: "conversation",
  aliases: ["q"],
  help: "send a message after the current reply",
  argument: "TEXT",
  run: (argument) => {
    const text = argument.trim()
    return Promise.resolve(text === "" ? reply("Usage: /queue TEXT.") : { kind: "send", text, typed: true })
  },
}
