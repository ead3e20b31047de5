import { toSessionId } from "../../protocol/identifiers.ts"
import type { ActivityOptions, SessionActivity, StoreActivity, ToolUse } from "../store.ts"
import type { Database } from "./connection.ts"
import { decodeToolCalls } from "./message-columns.ts"
import { number, numberOrNull, text, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"
import { KIND_COLUMNS, lineageKind, WITH_PARENT } from "./session-kind.ts"

/** What was done in the sessions that began in a time span: totals from their rows, tool calls from their messages. */
export function readActivity(db: Database, { after, source }: ActivityOptions): StoreActivity {
  const bySource = source === undefined ? "" : "AND s.source = ?"
  const values = source === undefined ? [after] : [after, source]
  const within = `s.started_at >= ? ${bySource}`
  const sessions = db
    .all(
      `SELECT s.id, s.source, s.model, s.title, s.ended_at, s.message_count, s.tool_call_count, s.input_tokens, s.output_tokens,
        s.cache_read_tokens, s.cache_write_tokens, s.reasoning_tokens, s.estimated_cost_usd, s.actual_cost_usd, s.cost_status,
        s.api_call_count, (SELECT max(timestamp) FROM messages WHERE session_id = s.id) AS last_at, ${KIND_COLUMNS}
        FROM ${WITH_PARENT} WHERE ${within} ORDER BY s.started_at`,
      ...values,
    )
    .map(toActivity)
  const roles = db.all(
    `SELECT m.role, count(*) AS found FROM messages m JOIN sessions s ON s.id = m.session_id WHERE ${within} GROUP BY m.role`,
    ...values,
  )
  const toolRows = db.all(
    `SELECT m.tool_name, count(*) AS found FROM messages m JOIN sessions s ON s.id = m.session_id
      WHERE ${within} AND m.role = 'tool' AND m.tool_name IS NOT NULL GROUP BY m.tool_name`,
    ...values,
  )
  return {
    sessions,
    messagesByRole: Object.fromEntries(roles.map((row) => [text(row, "role"), number(row, "found")])),
    toolResults: Object.fromEntries(toolRows.map((row) => [text(row, "tool_name"), number(row, "found")])),
    toolCalls: db
      .all(
        `SELECT m.tool_calls, m.timestamp FROM messages m JOIN sessions s ON s.id = m.session_id
          WHERE ${within} AND m.role = 'assistant' AND m.tool_calls IS NOT NULL`,
        ...values,
      )
      .flatMap(toToolUses),
  }
}

function toActivity(row: Row): SessionActivity {
  return {
    id: toSessionId(text(row, "id")),
    source: text(row, "source"),
    model: textOrNull(row, "model"),
    title: textOrNull(row, "title"),
    kind: lineageKind(row),
    startedAt: number(row, "started_at"),
    lastAt: numberOrNull(row, "last_at") ?? numberOrNull(row, "ended_at") ?? number(row, "started_at"),
    messages: numberOrNull(row, "message_count") ?? 0,
    toolCalls: numberOrNull(row, "tool_call_count") ?? 0,
    apiCalls: numberOrNull(row, "api_call_count") ?? 0,
    usage: {
      input: numberOrNull(row, "input_tokens") ?? 0,
      output: numberOrNull(row, "output_tokens") ?? 0,
      cacheRead: numberOrNull(row, "cache_read_tokens") ?? 0,
      cacheWrite: numberOrNull(row, "cache_write_tokens") ?? 0,
      reasoning: numberOrNull(row, "reasoning_tokens") ?? 0,
    },
    estimatedCostUsd: numberOrNull(row, "estimated_cost_usd"),
    actualCostUsd: numberOrNull(row, "actual_cost_usd"),
    costStatus: textOrNull(row, "cost_status"),
  }
}

function toToolUses(row: Row): readonly ToolUse[] {
  const timestamp = number(row, "timestamp")
  return decodeToolCalls(row).map((call) => ({
    name: call.function.name,
    arguments: call.function.arguments,
    timestamp,
  }))
}
