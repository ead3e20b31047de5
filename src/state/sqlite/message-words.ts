import { errorMessage } from "../../base/system-error.ts"
import { codePointLength } from "../../base/text.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { IndexedWord, MessageScope, SearchableMessage, WordRange } from "../../protocol/message-words.ts"
import type { StoreLogger } from "../store.ts"
import { contentPreview, decodeContent } from "../structured-content.ts"
import type { Database } from "./connection.ts"
import { decodeToolCalls } from "./message-columns.ts"
import { messageFilter } from "./message-filter.ts"
import { jsonObject, number, sessionId, text, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"
import { isStatementError } from "./store-failure.ts"

export function wordsBetween(
  db: Database,
  ranges: readonly WordRange[],
  log: StoreLogger,
): readonly (readonly IndexedWord[])[] {
  try {
    // A view of the index that belongs to this connection; nothing is written to the file.
    db.exec("CREATE VIRTUAL TABLE IF NOT EXISTS temp.message_vocabulary USING fts5vocab('main', 'messages_fts', 'row')")
    return ranges.map(({ first, end, limit }) =>
      db
        .all("SELECT term, doc FROM temp.message_vocabulary WHERE term >= ? AND term < ? LIMIT ?", first, end, limit)
        .map((row) => ({ word: text(row, "term"), messages: number(row, "doc") })),
    )
  } catch (error) {
    if (!isStatementError(error)) throw error
    log.debug(`The vocabulary of the message index cannot be read: ${errorMessage(error)}`)
    return ranges.map(() => [])
  }
}

export function messagesWithWords(
  db: Database,
  groups: readonly (readonly string[])[],
  scope: Pick<MessageScope, "sessions">,
): readonly (readonly number[])[] {
  const allowed = scope.sessions === undefined ? undefined : new Set(idsOfSessions(db, scope.sessions))
  return groups.map((words) => {
    if (words.length === 0) return []
    const match = words.map((word) => `"${word.replaceAll('"', '""')}"`).join(" OR ")
    // One string instead of a row object per id, which would take three times as long.
    const row = db.get("SELECT group_concat(rowid) AS ids FROM messages_fts WHERE messages_fts MATCH ?", match)
    const ids = splitIds(row)
    return allowed === undefined ? ids : ids.filter((id) => allowed.has(id))
  })
}

const TRIGRAM_LENGTH = 3

/** Uses the trigram index, so that parts of words are found too. */
export function messagesContaining(db: Database, literal: string, sessions: readonly string[]): readonly number[] {
  if (codePointLength(literal) < TRIGRAM_LENGTH) return []
  const allowed = new Set(idsOfSessions(db, sessions))
  const match = `"${literal.replaceAll('"', '""')}"`
  return splitIds(
    db.get("SELECT group_concat(rowid) AS ids FROM messages_fts_trigram WHERE messages_fts_trigram MATCH ?", match),
  ).filter((id) => allowed.has(id))
}

/** The messages after the newest prompt may be notes that Hermes wrote in the user's name. */
const MAX_GENERATED = 20

export function newestPrompt(db: Database, session: SessionId): SearchableMessage | undefined {
  return db
    .all(
      `SELECT ${COLUMNS} FROM messages m WHERE m.session_id = ? AND m.active = 1 AND m.role = 'user'
       ORDER BY m.timestamp DESC, m.id DESC LIMIT ${MAX_GENERATED}`,
      session,
    )
    .map(searchableMessage)
    .find(({ isGenerated }) => !isGenerated)
}

/** Ascending. */
export function idsOfSessions(db: Database, sessions: readonly string[]): readonly number[] {
  const row = db.get(
    "SELECT group_concat(id) AS ids FROM messages WHERE session_id IN (SELECT value FROM json_each(?)) AND active = 1",
    JSON.stringify(sessions),
  )
  return splitIds(row).toSorted((a, b) => a - b)
}

function splitIds(row: Row | undefined): readonly number[] {
  const ids = row === undefined ? "" : text(row, "ids")
  return ids === "" ? [] : ids.split(",").map(Number)
}

const COLUMNS = "m.id, m.session_id, m.role, m.content, m.tool_calls, m.tool_name, m.timestamp, m.extra"

export function messagesInScope(
  db: Database,
  ids: readonly number[],
  scope: MessageScope,
): readonly SearchableMessage[] {
  const filter = messageFilter(scope)
  return db
    .all(
      `SELECT ${COLUMNS} FROM json_each(?) j CROSS JOIN messages m ON m.id = j.value
         CROSS JOIN sessions s ON s.id = m.session_id
       WHERE 1 ${filter.sql} ORDER BY j.key`,
      JSON.stringify(ids),
      ...filter.values,
    )
    .map(searchableMessage)
}

/** Reads along the primary key: that is faster than looking up the neighbours of each message, and a session is stored in one piece. */
export function messagesAroundIds(
  db: Database,
  ids: readonly number[],
  distance: number,
): readonly SearchableMessage[] {
  return mergedRanges(ids, distance).flatMap(({ first, last }) =>
    db
      .all(
        `SELECT ${COLUMNS} FROM messages m
         WHERE m.id BETWEEN ? AND ? AND m.active = 1 AND m.role IN ('user', 'assistant') ORDER BY m.id`,
        first,
        last,
      )
      .map(searchableMessage),
  )
}

function mergedRanges(
  ids: readonly number[],
  distance: number,
): readonly { readonly first: number; readonly last: number }[] {
  const ranges: { readonly first: number; last: number }[] = []
  for (const id of ids.toSorted((a, b) => a - b)) {
    const previous = ranges.at(-1)
    if (previous !== undefined && id - distance <= previous.last + 1) previous.last = id + distance
    else ranges.push({ first: id - distance, last: id + distance })
  }
  return ranges
}

function searchableMessage(row: Row): SearchableMessage {
  const extras = row["extra"] === null ? {} : jsonObject(row, "extra")
  return {
    id: number(row, "id"),
    sessionId: sessionId(row, "session_id"),
    role: text(row, "role"),
    text: contentPreview(decodeContent(row["content"], () => undefined)),
    toolName: textOrNull(row, "tool_name"),
    timestamp: number(row, "timestamp"),
    calledTools: row["tool_calls"] === null ? [] : decodeToolCalls(row).map((call) => call.function.name),
    isGenerated: extras["synthetic"] !== undefined || extras["compressed_summary"] === true,
  }
}
