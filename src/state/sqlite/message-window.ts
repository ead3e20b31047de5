import type { AnchoredView, MessageRow, MessageWindow, StoreLogger } from "../store.ts"
import type { Database } from "./connection.ts"
import { decodeMessageRow } from "./message-columns.ts"
import { number, text } from "./row-values.ts"

const BOOKEND_MESSAGES = 3

export interface Anchor {
  readonly messageId: number
  readonly window: number
}

/**
 * Returns the messages around an anchor, in order; none when the anchor does not exist. Reads along the index by time: in the order
 * of the ids, SQLite would sort the whole session first.
 */
export function messagesAround(db: Database, anchor: Anchor, log: StoreLogger): MessageWindow {
  const row = db.get("SELECT * FROM messages WHERE id = ?", anchor.messageId)
  if (row === undefined) return { messages: [], before: 0, after: 0 }
  const select = (comparison: "<" | ">", order: "DESC" | "ASC"): readonly MessageRow[] =>
    db
      .all(
        `SELECT * FROM messages WHERE session_id = ?1 AND active = 1 AND timestamp ${comparison}= ?2
           AND (timestamp, id) ${comparison} (?2, ?3) ORDER BY timestamp ${order}, id ${order} LIMIT ?4`,
        text(row, "session_id"),
        number(row, "timestamp"),
        anchor.messageId,
        anchor.window,
      )
      .map((neighbour) => decodeMessageRow(neighbour, log))
  const before = select("<", "DESC").toReversed()
  const after = select(">", "ASC")
  return { messages: [...before, decodeMessageRow(row, log), ...after], before: before.length, after: after.length }
}

/** Returns the user and assistant messages around an anchor, plus the first and last ones of its session. */
export function anchoredView(db: Database, anchor: Anchor, log: StoreLogger): AnchoredView {
  const window = messagesAround(db, anchor, log)
  const [first] = window.messages
  const last = window.messages.at(-1)
  if (first === undefined || last === undefined) return { ...window, opening: [], closing: [] }
  const bookend = (comparison: "<" | ">", edge: MessageRow, order: "DESC" | "ASC"): readonly MessageRow[] => {
    const found: MessageRow[] = []
    const rows = db.iterate(
      `SELECT * FROM messages WHERE session_id = ?1 AND active = 1 AND timestamp ${comparison}= ?2
         AND (timestamp, id) ${comparison} (?2, ?3) AND role IN ('user', 'assistant')
       ORDER BY timestamp ${order}, id ${order}`,
      edge.sessionId,
      edge.timestamp,
      edge.id,
    )
    for (const row of rows) {
      const message = decodeMessageRow(row, log)
      if (message.text.trim() !== "") found.push(message)
      if (found.length === BOOKEND_MESSAGES) break
    }
    return found
  }
  return {
    ...window,
    messages: window.messages.filter((message) => isConversational(message) || message.id === anchor.messageId),
    opening: bookend("<", first, "ASC"),
    closing: bookend(">", last, "DESC").toReversed(),
  }
}

function isConversational(message: MessageRow): boolean {
  return message.role === "user" || message.role === "assistant"
}
