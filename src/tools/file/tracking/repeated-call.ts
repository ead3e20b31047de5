import type { ToolContext, ToolResult } from "../../../toolkit/tool.ts"
import { failure } from "../../failure.ts"

const WARN_AT = 3

export type RepetitionCheck =
  | { readonly kind: "fine" }
  | { readonly kind: "warned"; readonly warning: string }
  | { readonly kind: "blocked"; readonly result: ToolResult }

/** Warns about the third equal read or search in a row and refuses later ones. */
export function checkRepetition(
  call: { readonly signature: string; readonly what: string },
  { ports }: ToolContext,
): RepetitionCheck {
  const times = ports.files?.timesInARow(call.signature) ?? 1
  if (times < WARN_AT) return { kind: "fine" }
  if (times === WARN_AT) {
    return {
      kind: "warned",
      warning: `this is the same ${call.what} ${times} times in a row; one more will be refused`,
    }
  }
  const error = `BLOCKED: the same ${call.what} ${times} times in a row. Use what you have, or do something else.`
  return { kind: "blocked", result: failure(error, { already_read: times }) }
}
