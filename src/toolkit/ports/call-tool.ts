import type { ToolOutcome } from "../../protocol/tool.ts"

/**
 * Calls another tool of the session through the same door as the model does: hooks, guardrails, policy and approval apply, and the
 * user sees the call. For scripts that call tools. The result is returned to the caller and not added to the conversation.
 */
export type CallToolPort = (name: string, args: Readonly<Record<string, unknown>>) => Promise<CalledTool>

export interface CalledTool {
  readonly outcome: ToolOutcome
  /** The result as the model would read it, bounded and redacted. */
  readonly text: string
}
