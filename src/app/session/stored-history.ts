import { repairStoredHistory } from "../../agent/history-repair.ts"
import type { Message } from "../../protocol/message.ts"

/**
 * Moves the messages of the running turn behind those that other processes stored meanwhile, because they are answered next, and
 * repairs the sequence. `rows` has the row id of each stored message.
 */
export function withTurnLast(
  rows: ReadonlyMap<Message, number>,
  turn: readonly Message[],
): ReadonlyMap<Message, number> {
  const others = [...rows.keys()]
  const last = turn.toReversed().flatMap((message) => {
    const key = keyOf(message)
    const index = others.findLastIndex((other) => keyOf(other) === key)
    return index === -1 ? [] : others.splice(index, 1)
  })
  const ordered = [...others, ...last.toReversed()]
  return repairStoredHistory(new Map(ordered.map((message) => [message, rows.get(message) ?? 0])))
}

function keyOf(message: Message): string {
  if (message.role === "tool") return `tool ${message.tool_call_id}`
  const calls = message.role === "assistant" ? (message.tool_calls ?? []).map(({ id }) => id) : []
  return JSON.stringify([message.role, message.content, calls])
}
