import type { SessionRow, SessionStore } from "../../state/store.ts"

/**
 * Returns the rows of a conversation, the given one first. A compression continues a conversation in a child session, so the parents
 * that it ended belong to the same conversation.
 */
export async function conversationRows(
  store: Pick<SessionStore, "session">,
  last: SessionRow,
): Promise<readonly SessionRow[]> {
  const rows = [last]
  const seen = new Set<string>()
  for (let { parent } = last; parent !== null && !seen.has(parent);) {
    seen.add(parent)
    const row = await store.session(parent)
    if (row?.endReason !== "compression") break
    rows.push(row)
    parent = row.parent
  }
  return rows
}
