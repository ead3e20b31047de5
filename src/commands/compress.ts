import { compactCount } from "../base/compact-count.ts"
import { asSentence } from "../base/sentence.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/compress`: compresses the conversation now, with a focus topic, or everything except the last exchanges. */
export const compressCommand: SlashCommand = {
  name: "compress",
  category: "conversation",
  help: "summarise older messages to free context",
  argument: "[here [N] | TOPIC]",
  idleOnly: true,
  run: compressConversation,
}

async function compressConversation(argument: string, { session, signal, note }: SlashContext): Promise<SlashOutcome> {
  const before = session.id
  const request = parseCompressArgument(argument.trim())
  if (request === undefined) return reply("Keep at least one exchange, for example /compress here 3.")
  note?.("Compressing the conversation. Press Ctrl+C to cancel.")
  const done = await session.compress({ signal, ...request })
  if (!done.ok) return reply(asSentence(done.error))
  const { tokensBefore, tokensAfter, layersRun, sessionId, warning } = done.value
  const changed = layersRun.length > 0 && tokensAfter < tokensBefore
  if (!changed && signal.aborted) return reply("Cancelled. The conversation is unchanged.")
  return reply(
    [
      changed
        ? `Compressed the conversation from about ${compactCount(tokensBefore)} to ${compactCount(tokensAfter)} tokens.`
        : `Nothing to compress: the conversation has about ${compactCount(tokensBefore)} tokens.`,
      ...(sessionId === before ? [] : [`It continues as session ${sessionId}; the full history stays in ${before}.`]),
      ...(warning === undefined ? [] : [asSentence(warning)]),
    ].join("\n"),
  )
}

/** How many exchanges `/compress here` keeps word for word. */
const DEFAULT_KEPT_EXCHANGES = 2

/** Parses `here`, `here N` or a topic. Undefined for a number below one. */
function parseCompressArgument(text: string): { readonly focus?: string; readonly keepExchanges?: number } | undefined {
  const here = /^here(?:\s+(\d{1,6}))?$/iu.exec(text)
  if (here === null) return text === "" ? {} : { focus: text }
  const keepExchanges = Number(here[1] ?? DEFAULT_KEPT_EXCHANGES)
  return keepExchanges < 1 ? undefined : { keepExchanges }
}
