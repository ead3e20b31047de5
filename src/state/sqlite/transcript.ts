import type { SessionId } from "../../protocol/identifiers.ts"
import type { Message } from "../../protocol/message.ts"
import { StoreError } from "../store.ts"
import type { MessageRow, StoreLogger, StoredMessage } from "../store.ts"
import type { Database } from "./connection.ts"
import { MESSAGE_COLUMNS, decodeMessageRow, encodeMessage, extraColumn } from "./message-columns.ts"
import { continuationAncestors } from "./lineage.ts"
import { jsonObject } from "./row-values.ts"
import { SOFT_DELETE_VERSION, readSchemaVersion } from "./schema.ts"

/** Messages of one append get distinct times, so that sorting by time keeps their order. */
const MICROSECOND = 0.000_001

const INSERT_MESSAGE = `INSERT INTO messages(session_id, ${MESSAGE_COLUMNS.join(", ")})
  VALUES (?, ${MESSAGE_COLUMNS.map(() => "?").join(", ")})`

export interface Append {
  readonly id: SessionId
  readonly messages: readonly StoredMessage[]
  readonly at: number
}

/** Also updates the counters of the session. */
export function appendMessages(db: Database, append: Append): readonly number[] {
  const ids = insertMessages(db, append)
  const changed = db.run(
    `UPDATE sessions SET message_count = COALESCE(message_count, 0) + ?, tool_call_count = COALESCE(tool_call_count, 0) + ?
     WHERE id = ?`,
    append.messages.length,
    append.messages.reduce((sum, message) => sum + toolCallsIn(message), 0),
    append.id,
  )
  if (changed.changes === 0) throw noSuchSession(append.id)
  return ids
}

/** Deletes and re-inserts the whole transcript. */
export function replaceMessages(db: Database, replacement: Append): void {
  requireSession(db, replacement.id)
  db.run("DELETE FROM messages WHERE session_id = ?", replacement.id)
  insertMessages(db, replacement)
  recount(db, replacement.id)
}

export interface Undo {
  readonly id: SessionId
  readonly messageId: number
}

/**
 * Removes a user message and everything after it. Readers below the soft-delete version ignore `active` and would show the rows
 * again, so in their databases the rows are deleted. Returns the text of the message, or "" when it is not in the session.
 */
export function undoTo(db: Database, undo: Undo, log: StoreLogger): string {
  const target = db.get(
    "SELECT * FROM messages WHERE id = ? AND session_id = ? AND active = 1",
    undo.messageId,
    undo.id,
  )
  if (target === undefined) return ""
  if ((readSchemaVersion(db) ?? 0) >= SOFT_DELETE_VERSION) {
    db.run("UPDATE messages SET active = 0 WHERE session_id = ? AND id >= ? AND active = 1", undo.id, undo.messageId)
    db.run("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", undo.id)
  } else {
    db.run("DELETE FROM messages WHERE session_id = ? AND id >= ?", undo.id, undo.messageId)
  }
  recount(db, undo.id)
  return decodeMessageRow(target, log).text
}

/** Adds keys to the `extra` column of a stored message. */
export function addExtras(db: Database, messageId: number, extras: Readonly<Record<string, unknown>>): void {
  const row = db.get("SELECT extra FROM messages WHERE id = ?", messageId)
  if (row === undefined) return
  db.run(
    "UPDATE messages SET extra = ? WHERE id = ?",
    extraColumn({ ...jsonObject(row, "extra"), ...extras }),
    messageId,
  )
}

/** In the order of writing: a clock may have stepped back in between. */
export function readMessages(
  db: Database,
  request: { readonly id: SessionId; readonly includeInactive: boolean },
  log: StoreLogger,
): readonly MessageRow[] {
  const rows = db.all(
    `SELECT * FROM messages WHERE session_id = ? ${request.includeInactive ? "" : "AND active = 1"} ORDER BY id`,
    request.id,
  )
  return rows.map((row) => decodeMessageRow(row, log))
}

/** Returns the history of a session. With ancestors, includes the whole chain of compressed sessions, oldest first. */
export function readConversation(
  db: Database,
  request: { readonly id: SessionId; readonly withAncestors: boolean },
  log: StoreLogger,
): readonly Message[] {
  if (!request.withAncestors) {
    return readMessages(db, { id: request.id, includeInactive: false }, log).flatMap((row) => row.message ?? [])
  }
  const rows = [...continuationAncestors(db, request.id), request.id]
    .flatMap((id) => readMessages(db, { id, includeInactive: false }, log))
    .toSorted((a, b) => a.timestamp - b.timestamp || a.id - b.id)
  return withoutRepeatedUserMessages(rows)
}

/** A continuation repeats the user message during which the session was compressed. Keeps it only once. */
function withoutRepeatedUserMessages(rows: readonly MessageRow[]): readonly Message[] {
  const kept: Message[] = []
  let lastQuestion: string | undefined
  for (const { message, text } of rows) {
    if (message === undefined) continue
    if (message.role === "user") {
      const question = JSON.stringify(message.content)
      if (question === lastQuestion) continue
      lastQuestion = question
    }
    if (message.role === "assistant" && text !== "") lastQuestion = undefined
    kept.push(message)
  }
  return kept
}

/** Recomputes both counters from the rows. */
export function recount(db: Database, id: SessionId): void {
  db.run(
    `UPDATE sessions SET
       message_count = (SELECT count(*) FROM messages WHERE session_id = ?1 AND active = 1),
       tool_call_count = (SELECT COALESCE(sum(CASE WHEN json_valid(tool_calls) THEN json_array_length(tool_calls) END), 0)
         FROM messages WHERE session_id = ?1 AND active = 1)
     WHERE id = ?1`,
    id,
  )
}

function insertMessages(db: Database, append: Append): readonly number[] {
  let previous = append.at - MICROSECOND
  try {
    return append.messages.map((message) => {
      const given = message.role === "system" ? undefined : message.timestamp
      previous = given ?? previous + MICROSECOND
      const columns = encodeMessage(message, previous)
      return db.run(INSERT_MESSAGE, append.id, ...MESSAGE_COLUMNS.map((column) => columns[column])).rowId
    })
  } catch (error) {
    requireSession(db, append.id) // says which session is missing instead of "FOREIGN KEY constraint failed"
    throw error
  }
}

function requireSession(db: Database, id: SessionId): void {
  if (db.get("SELECT 1 FROM sessions WHERE id = ?", id) === undefined) throw noSuchSession(id)
}

function noSuchSession(id: SessionId): StoreError {
  return new StoreError(
    "deleted",
    `Session ${id} does not exist any more: it was deleted. Start a new one with \`/new\` or \`hermes\`.`,
  )
}

function toolCallsIn(message: StoredMessage): number {
  return message.role === "assistant" ? (message.tool_calls?.length ?? 0) : 0
}
