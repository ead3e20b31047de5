import type { Message } from "../../protocol/message.ts"

/**
 * A round is a reply of the model and everything up to the next reply: results, notes, the user's next message. What precedes the first
 * reply is a round too. Rules about neighbouring messages (results belong to calls, roles alternate) apply within a round, so a round
 * that another one follows is always encoded in the same way.
 */
export function roundEnd(messages: readonly Message[], from: number): number {
  let index = from + 1
  while (index < messages.length && !startsRound(messages, index)) index += 1
  return Math.min(index, messages.length)
}

/** System messages are not part of the dialogue: wires send them elsewhere. */
export function startsRound(messages: readonly Message[], index: number): boolean {
  if (messages[index]?.role !== "assistant") return false
  let before = index - 1
  while (messages[before]?.role === "system") before -= 1
  const role = messages[before]?.role
  return role !== undefined && role !== "assistant"
}
