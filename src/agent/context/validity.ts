import type { AssistantMessage, Message } from "../../protocol/message.ts"

/**
 * Whether every wire takes the history: user and assistant alternate, and behind an assistant message stands exactly one result
 * for each of its calls. Only the very last calls may still wait for theirs.
 */
export function isValidHistory(messages: readonly Message[]): boolean {
  let speaker: "user" | "assistant" | undefined
  let open = new Set<string>()
  for (const message of messages) {
    if (message.role === "system") return false
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) return false
      // Results end the reply: the next one may follow without a person in between.
      speaker = undefined
      continue
    }
    if (open.size > 0 || message.role === speaker) return false
    speaker = message.role
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
