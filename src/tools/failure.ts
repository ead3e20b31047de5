import type { ToolResult } from "../toolkit/tool.ts"

/** An error result; the message states what went wrong and what to do next. */
export function failure(error: string, more: Readonly<Record<string, unknown>> = {}): ToolResult {
  return { content: { error, ...more }, summary: error }
}
