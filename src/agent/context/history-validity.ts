import type { AssistantMessage, Message } from "../../protocol/message.ts"

/**
 * Whether every wire accepts the history: no two replies in a row, and each call is followed by exactly one result. Only the calls
 * of the last message may have none yet. Consecutive user messages are valid: they are merged in the request.
 */
export function isValidHistory(messages: readonly Message[]): boolean {
  let afterReply = false
  let open = new Set<string>()
  for (const message of messages) {
    if (message.role === "system") return false
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) return false
      // After results the next assistant message may follow directly.
      afterReply = false
      continue
    }
    if (open.size > 0 || (message.role === "assistant" && afterReply)) return false
    afterReply = message.role === "assistant"
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
