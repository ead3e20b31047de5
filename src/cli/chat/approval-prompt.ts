import type { Session } from "../../app/session.ts"
import type { ApprovalRequest } from "../../protocol/events.ts"
import type { Terminal } from "../terminal.ts"

/** Puts an approval to the person at the terminal. Without one the session does not ask, so nothing happens here. */
export async function askApproval(
  request: ApprovalRequest,
  { session, terminal }: { readonly session: Session; readonly terminal: Terminal },
): Promise<void> {
  if (!terminal.stdinIsTty) return
  const what = request.command ?? `${request.call.name} ${JSON.stringify(request.call.args)}`
  const answer = await terminal.ask(`\n${approvalQuestion(what, request.description)} `)
  session.answer(request.requestId, { kind: "approval", choice: readChoice(answer) })
}

export function approvalQuestion(what: string, why: string): string {
  return `Hermes wants to run:\n  ${what}\nThis needs your consent: ${why}.\n[o]nce, for this [s]ession, or [d]eny?`
}

/** Anything but a clear yes is a no. */
export function readChoice(answer: string | undefined): "once" | "session" | "deny" {
  const word = answer?.trim().toLowerCase() ?? ""
  if (word === "o" || word === "once" || word === "y" || word === "yes") return "once"
  if (word === "s" || word === "session") return "session"
  return "deny"
}
