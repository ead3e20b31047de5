import type { ShownDecision } from "../../protocol/events.ts"
import type { JsonSchema, ToolOutcome } from "../../protocol/tool.ts"

/**
 * Calls other tools of the session through the same door as the model does: hooks, guardrails, policy and approval apply, and the
 * user sees the call. For scripts that call tools. Results are returned to the caller and not added to the conversation.
 */
export interface CallToolPort {
  /** The tools that may be called: those of the session with the mark `inScripts`. */
  readonly tools: readonly CallableTool[]
  /** Waits while calls run that it conflicts with, and while eight others run. Never rejects. */
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<CalledTool>
  /** Calls back whenever Hermes begins or ends to wait for answers of the user. Returns a function that ends it. */
  onUserWait(changed: (isWaiting: boolean) => void): () => void
}

export interface CallableTool {
  readonly name: string
  readonly parameters: JsonSchema
  readonly scripts?: ScriptMarks
}

/** How scripts call a tool, where the schema does not say it. */
export interface ScriptMarks {
  /** Arguments that scripts cannot pass. */
  readonly omits?: readonly string[]
  /** The fields of its result: "content, total_lines". */
  readonly returns?: string
  /** Another name for it. */
  readonly alias?: string
}

export interface CalledTool {
  readonly outcome: ToolOutcome
  /** The result as JSON text, bounded and redacted. */
  readonly text: string
  /** Why the policy or the user refused the call, in words for a user: `text` is written for a model. */
  readonly refusal?: { readonly by: ShownDecision["by"]; readonly reason: string }
  /** Arguments that were left out, because scripts cannot use them. */
  readonly ignored: readonly string[]
}
