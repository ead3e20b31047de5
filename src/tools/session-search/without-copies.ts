import type { SearchableMessage } from "../../protocol/message-words.ts"
import type { PastSessions } from "../../toolkit/ports/sessions.ts"

/**
 * Compressions and branches copy messages to another session of the same lineage. Returns each message once, at the rank of its best
 * copy: the original, which has the lowest id.
 */
export async function withoutCopies<Found extends { readonly row: SearchableMessage }>(
  found: readonly Found[],
  store: Pick<PastSessions, "lineageRoot">,
): Promise<readonly Found[]> {
  const sizes = Map.groupBy(found, ({ row }) => textKey(row))
  const kept = new Map<string, Found>()
  for (const entry of found) {
    const text = textKey(entry.row)
    const isUnique = (sizes.get(text)?.length ?? 0) < 2
    const key = isUnique ? text : `${await store.lineageRoot(entry.row.sessionId)} ${text}`
    const known = kept.get(key)
    // Setting a known key keeps its position.
    if (known === undefined || entry.row.id < known.row.id) kept.set(key, entry)
  }
  return [...kept.values()]
}

/** A message that only calls tools has no text of its own. Its copies have the same time. */
function textKey({ role, text, timestamp, calledTools }: SearchableMessage): string {
  return text.trim() === "" ? `${role} ${timestamp} ${calledTools.join(" ")}` : `${role} ${text}`
}
