import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/steer`: a note for the running answer. With none running it is a message like any other. */
export const steerCommand: SlashCommand = {
  name: "steer",
  help: "add a note to the running answer",
  argument: "TEXT",
  run: steer,
}

function steer(argument: string, { session, running }: SlashContext): Promise<SlashOutcome> {
  const text = argument.trim()
  if (text === "") return Promise.resolve(say("Say what to add: /steer TEXT."))
  if (!running || !session.steer(text)) return Promise.resolve({ kind: "send", text })
  return Promise.resolve(say("The model gets this with its next tool result, or as your next message."))
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
