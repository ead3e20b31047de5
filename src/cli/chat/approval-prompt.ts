import type { ApprovalRequest } from "../../protocol/events.ts"
import { printable } from "./printable-text.ts"

export function approvalQuestion(request: ApprovalRequest): string {
  const { name, args } = request.call
  const what = request.command ?? (Object.keys(args).length === 0 ? name : `${name} ${JSON.stringify(args)}`)
  const why = request.description
  return printable(
    `Hermes wants to run:\n  ${what}\nThis needs your consent: ${why}.\n[o]nce, for this [s]ession, or [d]eny? `,
  )
}

/** Anything but a clear yes is a no. */
export function readChoice(answer: string | undefined): "once" | "session" | "deny" {
  const word = answer?.trim().toLowerCase() ?? ""
  if (word === "o" || word === "once" || word === "y" || word === "yes") return "once"
  if (word === "s" || word === "session") return "session"
  return "deny"
}
