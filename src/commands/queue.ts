import type { SlashCommand, SlashOutcome } from "./slash-command.ts"

/** `/queue`: a message that waits until the running answer has ended, whatever typing does otherwise. */
export const queueCommand: SlashCommand = {
  name: "queue",
  aliases: ["q"],
  help: "send a message when the running answer has ended",
  argument: "TEXT",
  run: queue,
}

function queue(argument: string): Promise<SlashOutcome> {
  const text = argument.trim()
  return Promise.resolve(text === "" ? { kind: "say", text: "Say what to send: /queue TEXT." } : { kind: "send", text })
}
