import type { ToolResult } from "../toolkit/tool.ts"

/** A result that tells the model what went wrong and what to do next. */
export function failure(error: string, more: Readonly<Record<string, unknown>> = {}): ToolResult {
  return { content: { error, ...more }, summary: error }
}
