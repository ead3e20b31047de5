import { compactCount } from "../base/compact-count.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/compress`: makes the conversation shorter now, with a weight on one topic, or all of it up to the last exchanges. */
export const compressCommand: SlashCommand = {
  name: "compress",
  help: "make the conversation shorter to free context",
  argument: "[here [N] | TOPIC]",
  idle: true,
  run: shorten,
}

async function shorten(argument: string, { session, signal, note }: SlashContext): Promise<SlashOutcome> {
  const before = session.id
  const wish = readWish(argument.trim())
  if (wish === undefined) return say("Say how many exchanges stay as they are, at least 1: /compress here 3")
  note?.("Making the conversation shorter. Ctrl+C gives up.")
  const done = await session.compress({ signal, ...wish })
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

/** How many exchanges stay word for word when the person names no number. */
const KEPT_EXCHANGES = 2

/** `here`, `here N` or a topic; undefined for a number that makes no sense. */
function readWish(text: string): { readonly focus?: string; readonly keepExchanges?: number } | undefined {
  const here = /^here(?:\s+(\d{1,6}))?$/iu.exec(text)
  if (here === null) return text === "" ? {} : { focus: text }
  const keepExchanges = Number(here[1] ?? KEPT_EXCHANGES)
  return keepExchanges < 1 ? undefined : { keepExchanges }
}

/** Failures of the layers below have no capital and no full stop. */
function sentence(text: string): string {
  const opened = `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
  return /[.!?]$/u.test(opened) ? opened : `${opened}.`
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
