import type { SearchableMessage } from "../../protocol/message-words.ts"
import type { MessageRow } from "../../state/store.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"

/**
 * Leaves out messages that an exact query matches only in a secret. Results are redacted, and a search in what was removed would reveal it
 * guess by guess. A message with a secret is never found by what it does not contain.
 */
export async function matchingInShownText<Found extends { readonly row: SearchableMessage }>(
  found: readonly Found[],
  query: string,
  { store, redact }: { readonly store: PastSessions; readonly redact: (text: string) => string },
): Promise<readonly Found[]> {
  const words = query.split(/\b(?:AND|OR|NOT)\b|[^\p{L}\p{N}\p{M}]+/u).filter((word) => word !== "")
  const hasNot = /\bNOT\b/u.test(query)
  const kept = await Promise.all(
    found.map(async (one) => {
      const [stored] = (await store.messagesAround(one.row.id, 0)).messages
      const searched = stored === undefined ? one.row.text : searchedText(stored)
      const shown = redact(searched)
      if (shown === searched) return [one]
      const lower = shown.toLowerCase()
      return !hasNot && words.every((word) => lower.includes(word.toLowerCase())) ? [one] : []
    }),
  )
  return kept.flat()
}

/** What the index contains of a message. */
function searchedText(row: MessageRow): string {
  return [row.text, ...calledTexts(row)].join("\n")
}

function calledTexts({ message }: MessageRow): readonly string[] {
  const calls = message?.role === "assistant" ? (message.tool_calls ?? []) : []
  return calls.map((call) => `${call.function.name} ${call.function.arguments}`)
}

/** Returns the tool calls of a stored message as the index contains them. */
export function toolCallsIn(store: Pick<PastSessions, "messagesAround">): (id: number) => Promise<string> {
  return async (id) => (await store.messagesAround(id, 0)).messages.flatMap(calledTexts).join("\n")
}
