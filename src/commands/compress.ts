import { compactCount } from "../base/compact-count.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/compress`: makes the conversation shorter now, with a weight on one topic where one is named. */
export const compressCommand: SlashCommand = {
  name: "compress",
  help: "make the conversation shorter to free context",
  argument: "[TOPIC]",
  idle: true,
  run: shorten,
}

async function shorten(argument: string, { session, signal, note }: SlashContext): Promise<SlashOutcome> {
  const before = session.id
  const topic = argument.trim()
  note?.("Making the conversation shorter. Ctrl+C gives up.")
  const done = await session.compress({ signal, ...(topic === "" ? {} : { focus: topic }) })
  if (!done.ok) return say(sentence(done.error))
  const { tokensBefore, tokensAfter, layersRun, sessionId, warning } = done.value
  const changed = layersRun.length > 0 && tokensAfter < tokensBefore
  if (!changed && signal.aborted) return say("Given up; the conversation is as it was.")
  return say(
    [
      changed
        ? `The conversation now takes about ${compactCount(tokensAfter)} tokens instead of ${compactCount(tokensBefore)}.`
        : `Nothing was left out: the conversation takes about ${compactCount(tokensBefore)} tokens.`,
      ...(sessionId === before ? [] : [`It goes on as session ${sessionId}; what was left out stays in ${before}.`]),
      ...(warning === undefined ? [] : [sentence(warning)]),
    ].join("\n"),
  )
}

/** Failures of the layers below have no capital and no full stop. */
function sentence(text: string): string {
  const opened = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
  return /[.!?]$/u.test(opened) ? opened : `${opened}.`
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
