import { codePointLength, ellipsize } from "../../base/text.ts"
import type { MessageRow } from "../../state/store.ts"

const MAX_ARGUMENT_CHARS = 200

/** A message in a result; a long one is cut and its length added. */
export function messageFields(row: MessageRow, maxChars: number): Readonly<Record<string, unknown>> {
  const chars = codePointLength(row.text)
  const calls = row.message?.role === "assistant" ? (row.message.tool_calls ?? []) : []
  return {
    id: row.id,
    role: row.role,
    when: isoTime(row.timestamp),
    ...(row.toolName !== null && { tool_name: row.toolName }),
    content: ellipsize(row.text, maxChars, "…"),
    ...(chars > maxChars && { chars }),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call) =>
        ellipsize(`${call.function.name} ${call.function.arguments}`, MAX_ARGUMENT_CHARS, "…"),
      ),
    }),
  }
}

/** Epoch seconds as `2026-03-31T14:00:00Z`. */
export function isoTime(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
}
