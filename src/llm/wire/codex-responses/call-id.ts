import { sha256Hex } from "../../../base/random-and-hash.ts"
import type { ToolCall } from "../../../protocol/message.ts"

/** The `call_id` that links a result to its call: the explicit one, or the part before the bar of a combined id. */
export function callIdOf(call: Pick<ToolCall, "id" | "call_id">): string {
  return call.call_id === undefined || call.call_id === "" ? toCallId(call.id) : toCallId(call.call_id)
}

/**
 * `call_1|fc_9` combines the id of a call with the id of its item. Ids from other wire formats that are too long are
 * hashed.
 */
export function toCallId(id: string): string {
  const bar = id.indexOf("|")
  const callId = bar > 0 ? id.slice(0, bar) : id
  return callId.length > MAX_ID_LENGTH ? `call_${sha256Hex(callId).slice(0, 32)}` : callId
}

/** The id of the item that contains a call, for servers that send none. */
export function itemIdOf(id: string): string {
  const joined = id.slice(id.indexOf("|") + 1)
  if (joined.startsWith("fc_")) return joined
  return `fc_${toCallId(id)
    .replace(/^call_/, "")
    .replaceAll(/[^A-Za-z0-9_-]/g, "")}`
}

/** The API rejects longer ids. */
export const MAX_ID_LENGTH = 64
