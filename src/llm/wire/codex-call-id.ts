import { sha256Hex } from "../../base/random-and-hash.ts"
import type { ToolCall } from "../../protocol/message.ts"

/** The id that ties a result to its call on this wire: the explicit one, or what stands before the bar of a joined id. */
export function callIdOf(call: Pick<ToolCall, "id" | "call_id">): string {
  return call.call_id === undefined || call.call_id === "" ? callIdOfText(call.id) : callIdOfText(call.call_id)
}

/** `call_1|fc_9` joins the id of a call with the id of its item. Ids of other wires may be longer than this one allows. */
export function callIdOfText(id: string): string {
  const bar = id.indexOf("|")
  const own = bar > 0 ? id.slice(0, bar) : id
  return own.length > MAX_ID_LENGTH ? `call_${sha256Hex(own).slice(0, 32)}` : own
}

/** The id of the item that holds a call, for servers that name none. */
export function itemIdOf(id: string): string {
  const joined = id.slice(id.indexOf("|") + 1)
  if (joined.startsWith("fc_")) return joined
  return `fc_${callIdOfText(id)
    .replace(/^call_/, "")
    .replaceAll(/[^A-Za-z0-9_-]/g, "")}`
}

/** What the vendor allows for an id. */
export const MAX_ID_LENGTH = 64
