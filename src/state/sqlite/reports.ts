import { statSync } from "node:fs"
import { parseJson } from "../../base/json.ts"
import { isNotFound } from "../../base/system-error.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { StoreInfo, StoreLogger, StoreStats } from "../store.ts"
import { decodeContent } from "../structured-content.ts"
import type { Database } from "./connection.ts"
import { decodeJsonList, decodeToolCalls } from "./message-columns.ts"
import { number, text, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"

/** Returns one line of an export: the session row as stored, with its messages decoded. */
export function exportSessionRow(
  db: Database,
  { id, includeInactive }: { readonly id: SessionId; readonly includeInactive: boolean },
  log: StoreLogger,
): Record<string, unknown> | undefined {
  const row = db.get("SELECT * FROM sessions WHERE id = ?", id)
  if (row === undefined) return undefined
  const active = includeInactive ? "" : "AND active = 1"
  const messages = db.all(`SELECT * FROM messages WHERE session_id = ? ${active} ORDER BY id`, id)
  return { ...row, messages: messages.map((message) => exportMessage(message, log)) }
}

export function readStats(db: Database, info: StoreInfo): StoreStats {
  return {
    sessions: count(db, "SELECT count(*) AS found FROM sessions"),
    messages: count(db, "SELECT count(*) AS found FROM messages"),
    bySource: db
      .all("SELECT source, count(*) AS found FROM sessions GROUP BY source ORDER BY found DESC, source")
      .map((row) => ({ source: text(row, "source"), sessions: number(row, "found") })),
    sizeMb: Math.round((fileSize(info.location) / 1024 / 1024) * 10) / 10,
    walBytes: fileSize(`${info.location}-wal`),
    schemaVersion: info.schemaVersion,
    search: info.search,
  }
}

function exportMessage(row: Row, log: StoreLogger): Record<string, unknown> {
  const extra = textOrNull(row, "extra")
  return {
    ...row,
    content: decodeContent(row["content"], (message) => log.warning(message)),
    tool_calls: row["tool_calls"] === null ? null : decodeToolCalls(row),
    reasoning_details: decodeJsonList(row, "reasoning_details"),
    codex_reasoning_items: decodeJsonList(row, "codex_reasoning_items"),
    codex_message_items: decodeJsonList(row, "codex_message_items"),
    extra: extra === null ? null : parseJson(extra),
  }
}

function count(db: Database, sql: string): number {
  return number(db.get(sql) ?? {}, "found")
}

function fileSize(path: string): number {
  try {
    return statSync(path).size
  } catch (error) {
    if (isNotFound(error)) return 0 // the write-ahead log exists only while a connection is open
    throw error
  }
}
