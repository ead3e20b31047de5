import type { ApprovalRequest } from "../../protocol/events.ts"
import { withoutControlCharacters } from "../terminal/text-layout.ts"

export function approvalQuestion(request: ApprovalRequest): string {
  const { name, args } = request.call
  const subject = request.command ?? (Object.keys(args).length === 0 ? name : `${name} ${JSON.stringify(args)}`)
  return withoutControlCharacters(
    `Hermes wants to run:\n  ${subject}\nThis needs your approval: ${request.description}.\nAllow [o]nce, for this [s]ession, or [d]eny? `,
  )
}

/** Everything except an explicit approval denies. */
export function parseApprovalAnswer(answer: string | undefined): "once" | "session" | "deny" {
  const word = answer?.trim().toLowerCase() ?? ""
  if (word === "o" || word === "once" || word === "y" || word === "yes") return "once"
  if (word === "s" || word === "session") return "session"
  return "deny"
}
