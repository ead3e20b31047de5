import { isRecord, parseJson } from "../../base/json.ts"
import { scrubSurrogates } from "../../base/text.ts"
import type { Message, ToolCall } from "../../protocol/message.ts"
import { stripMemoryFences } from "../memory-fence.ts"
import type { MessageRow, StoreLogger, StoredMessage } from "../store.ts"
import { contentForMessage, contentPreview, decodeContent, encodeContent } from "../structured-content.ts"
import { jsonObject, number, numberOrNull, sessionId, text, textOrNull } from "./row-values.ts"
import type { Row } from "./row-values.ts"

type ColumnValue = string | number | null

/** The columns that an append sets, in order. `observed` and `active` keep their defaults. */
export const MESSAGE_COLUMNS = [
  "role",
  "content",
  "tool_call_id",
  "tool_calls",
  "tool_name",
  "timestamp",
  "token_count",
  "finish_reason",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
  "codex_reasoning_items",
  "codex_message_items",
  "platform_message_id",
  "extra",
] as const

type Columns = Record<(typeof MESSAGE_COLUMNS)[number], ColumnValue>

/** Encodes a message. Fields without a column, including unknown ones, go to `extra`. */
export function encodeMessage(message: StoredMessage, timestamp: number): Columns {
  const { role, content, tokenCount, platformMessageId, ...rest } = message
  const remaining: Record<string, unknown> = { ...rest }
  const take = (key: string): unknown => {
    const value = remaining[key]
    delete remaining[key]
    return value
  }
  delete remaining["timestamp"]
  return {
    role,
    content: encodeContent(content),
    tool_call_id: textValue(take("tool_call_id")),
    tool_calls: jsonList(take("tool_calls")),
    tool_name: textValue(take("tool_name")),
    timestamp,
    token_count: tokenCount ?? null,
    finish_reason: textValue(take("finish_reason")),
    reasoning: textValue(take("reasoning")),
    reasoning_content: textValue(take("reasoning_content")),
    reasoning_details: jsonList(take("reasoning_details")),
    codex_reasoning_items: jsonList(take("codex_reasoning_items")),
    codex_message_items: jsonList(take("codex_message_items")),
    platform_message_id: platformMessageId ?? null,
    extra: extraColumn(remaining),
  }
}

export function decodeMessageRow(row: Row, log: StoreLogger): MessageRow {
  const decoded = decodeContent(row["content"], (warning) => log.warning(warning))
  return {
    id: number(row, "id"),
    sessionId: sessionId(row, "session_id"),
    role: text(row, "role"),
    message: toMessage(row, decoded),
    text: contentPreview(decoded),
    toolName: textOrNull(row, "tool_name"),
    platformMessageId: textOrNull(row, "platform_message_id"),
    timestamp: number(row, "timestamp"),
    active: (numberOrNull(row, "active") ?? 1) !== 0,
  }
}

/** Returns the tool calls of a row; none when the column cannot be decoded. */
export function decodeToolCalls(row: Row): readonly ToolCall[] {
  const decoded = parseJson(textOrNull(row, "tool_calls") ?? "[]")
  return Array.isArray(decoded) ? decoded.filter(isToolCall) : []
}

/** Decodes a column with a JSON list; null when it cannot be decoded. */
export function decodeJsonList(row: Row, column: string): readonly unknown[] | null {
  const decoded = parseJson(textOrNull(row, column) ?? "null")
  return Array.isArray(decoded) ? decoded : null
}

/** Encodes the `extra` column; null when there are no extras. */
export function extraColumn(extras: Readonly<Record<string, unknown>>): string | null {
  const given = Object.entries(extras).filter(([, value]) => value !== undefined)
  return given.length === 0 ? null : scrubSurrogates(JSON.stringify(Object.fromEntries(given)))
}

function toMessage(row: Row, decoded: unknown): Message | undefined {
  const content = contentForMessage(decoded)
  const extras = jsonObject(row, "extra")
  const timestamp = number(row, "timestamp")
  switch (text(row, "role")) {
    case "system":
      return { role: "system", content: typeof content === "string" ? content : contentPreview(decoded) }
    case "user":
      return { ...extras, role: "user", content: withoutFences(content) ?? "", timestamp }
    case "assistant":
      return { ...extras, ...assistantFields(row), role: "assistant", content: withoutFences(content), timestamp }
    case "tool":
      return {
        ...extras,
        role: "tool",
        content: content ?? "",
        tool_call_id: text(row, "tool_call_id"),
        tool_name: text(row, "tool_name"),
        timestamp,
      }
    default:
      return undefined // roles of the Python edition, such as `session_meta`, are not part of the conversation
  }
}

function withoutFences<Content>(content: Content): Content | string {
  return typeof content === "string" ? stripMemoryFences(content) : content
}

function assistantFields(row: Row): Readonly<Record<string, unknown>> {
  const calls = decodeToolCalls(row)
  const fields: Record<string, unknown> = {}
  if (calls.length > 0) fields["tool_calls"] = calls
  for (const column of ["finish_reason", "reasoning", "reasoning_content"]) {
    const value = textOrNull(row, column)
    if (value !== null) fields[column] = value
  }
  for (const column of ["reasoning_details", "codex_reasoning_items", "codex_message_items"]) {
    const value = decodeJsonList(row, column)
    if (value !== null) fields[column] = value
  }
  return fields
}

function isToolCall(value: unknown): value is ToolCall {
  if (!isRecord(value) || typeof value["id"] !== "string" || !isRecord(value["function"])) return false
  return typeof value["function"]["name"] === "string" && typeof value["function"]["arguments"] === "string"
}

function textValue(value: unknown): string | null {
  return typeof value === "string" ? scrubSurrogates(value) : null
}

/** Empty lists are stored as NULL, as the Python edition does. */
function jsonList(value: unknown): string | null {
  return Array.isArray(value) && value.length > 0 ? scrubSurrogates(JSON.stringify(value)) : null
}
