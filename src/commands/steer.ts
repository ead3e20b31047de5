import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/steer`: adds a note to the running turn. When none is running, it is sent as a message. */
export const steerCommand: SlashCommand = {
  name: "steer",
  category: "conversation",
  help: "add a note to the running turn",
  argument: "TEXT",
  run: steer,
}

function steer(argument: string, { session, running }: SlashContext): Promise<SlashOutcome> {
  const text = argument.trim()
  if (text === "") return Promise.resolve(reply("Usage: /steer TEXT."))
  if (!running || !session.steer(text)) return Promise.resolve({ kind: "send", text, typed: true })
  return Promise.resolve(reply("The model receives this with its next tool result, or as your next message."))
}
