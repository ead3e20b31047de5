import type { AssistantMessage, Message } from "../../protocol/message.ts"

/**
 * Whether every wire accepts the history: user and assistant alternate, and each call is followed by exactly one result. Only the
 * calls of the last message may have none yet.
 */
export function isValidHistory(messages: readonly Message[]): boolean {
  let lastRole: "user" | "assistant" | undefined
  let open = new Set<string>()
  for (const message of messages) {
    if (message.role === "system") return false
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) return false
      // After results the next assistant message may follow directly.
      lastRole = undefined
      continue
    }
    if (open.size > 0 || message.role === lastRole) return false
    lastRole = message.role
    if (message.role === "assistant") {
      open = callIds(message)
      if (open.size !== (message.tool_calls ?? []).length) return false
    }
  }
  return true
}

function callIds(message: AssistantMessage): Set<string> {
  return new Set((message.tool_calls ?? []).map((call) => call.id))
}
