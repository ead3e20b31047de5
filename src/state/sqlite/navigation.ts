import type { AnchoredView, MessageRow, MessageWindow, StoreLog } from "../store.ts"
import type { Database } from "./connection.ts"
import { decodeMessageRow } from "./message-columns.ts"
import { text } from "./row-values.ts"

const BOOKEND = 3

export interface Anchor {
  readonly messageId: number
  readonly window: number
}

/** The messages next to one, in the order of writing. An unknown anchor has none. */
export function messagesAround(db: Database, anchor: Anchor, log: StoreLog): MessageWindow {
  const row = db.get("SELECT * FROM messages WHERE id = ?", anchor.messageId)
  if (row === undefined) return { messages: [], before: 0, after: 0 }
  const session = text(row, "session_id")
  const select = (comparison: "<" | ">", order: "DESC" | "ASC"): readonly MessageRow[] =>
    db
      .all(
        `SELECT * FROM messages WHERE session_id = ? AND id ${comparison} ? AND active = 1 ORDER BY id ${order} LIMIT ?`,
        session,
        anchor.messageId,
        anchor.window,
      )
      .map((neighbour) => decodeMessageRow(neighbour, log))
  const before = select("<", "DESC").toReversed()
  const after = select(">", "ASC")
  return { messages: [...before, decodeMessageRow(row, log), ...after], before: before.length, after: after.length }
}

/** What was said around a message, plus how its session began and how it ended. */
export function anchoredView(db: Database, anchor: Anchor, log: StoreLog): AnchoredView {
  const window = messagesAround(db, anchor, log)
  const [first] = window.messages
  const last = window.messages.at(-1)
  if (first === undefined || last === undefined) return { ...window, opening: [], closing: [] }
  const bookend = (comparison: "<" | ">", edge: MessageRow, order: "DESC" | "ASC"): readonly MessageRow[] => {
    const found: MessageRow[] = []
    const rows = db.iterate(
      `SELECT * FROM messages WHERE session_id = ? AND id ${comparison} ? AND active = 1
         AND role IN ('user', 'assistant') ORDER BY id ${order}`,
      edge.sessionId,
      edge.id,
    )
    for (const row of rows) {
      const message = decodeMessageRow(row, log)
      if (message.text.trim() !== "") found.push(message)
      if (found.length === BOOKEND) break
    }
    return found
  }
  return {
    ...window,
    messages: window.messages.filter((message) => isSpoken(message) || message.id === anchor.messageId),
    opening: bookend("<", first, "ASC"),
    closing: bookend(">", last, "DESC").toReversed(),
  }
}

function isSpoken(message: MessageRow): boolean {
  return message.role === "user" || message.role === "assistant"
}
