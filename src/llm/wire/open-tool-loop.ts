import type { AssistantMessage, Message } from "../../protocol/message.ts"

/**
 * The first reply of the tool loop that the request continues; undefined when the request does not continue one. User messages after
 * results belong to the loop: wires send both in one turn.
 */
export function openToolLoop(messages: readonly Message[]): AssistantMessage | undefined {
  const latest = messages.findLastIndex(({ role }) => role === "assistant")
  if (latest === -1 || messages[latest + 1]?.role !== "tool") return undefined
  const first = messages.findLast((message, index) => message.role === "assistant" && answersUser(messages, index))
  return first?.role === "assistant" ? first : undefined
}

/** Whether only the user's messages, or nothing, precede the reply, back to the reply before. */
function answersUser(messages: readonly Message[], reply: number): boolean {
  let index = reply - 1
  while (index >= 0) {
    const role = messages[index]?.role
    if (role === "tool") return false
    if (role === "assistant") return index < reply - 1
    index -= 1
  }
  return true
}
