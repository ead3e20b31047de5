import type { ToolContext, ToolResult } from "../../toolkit/tool.ts"
import { failure } from "../failure.ts"

const WARNED_CALL = 3

export type Repetition =
  | { readonly kind: "fine" }
  | { readonly kind: "warned"; readonly warning: string }
  | { readonly kind: "blocked"; readonly result: ToolResult }

/** A read or search that is called over and over brings nothing new: the third call is warned, later ones are refused. */
export function repetitionOf(
  call: { readonly signature: string; readonly what: string },
  { ports }: ToolContext,
): Repetition {
  const times = ports.files?.timesInARow(call.signature) ?? 1
  if (times < WARNED_CALL) return { kind: "fine" }
  if (times === WARNED_CALL) {
    return {
      kind: "warned",
      warning: `this is the same ${call.what} ${times} times in a row; one more will be refused`,
    }
  }
  const error = `BLOCKED: the same ${call.what} ${times} times in a row. Use what you have, or do something else.`
  return { kind: "blocked", result: failure(error, { already_read: times }) }
}
