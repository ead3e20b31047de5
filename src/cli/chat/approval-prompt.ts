import type { ApprovalRequest } from "../../protocol/events.ts"
import { withoutControlCharacters } from "../terminal/text-layout.ts"

export function approvalQuestion(request: ApprovalRequest): string {
  const { name, args } = request.call
  const subject = request.command ?? (Object.keys(args).length === 0 ? name : `${name} ${JSON.stringify(args)}`)
  return withoutControlCharacters(
    `Hermes wants to run:\n  ${subject}\nThis needs your approval: ${request.description}.\n${CHOICES}`,
  )
}

/** Enter alone, Ctrl+C and the end of input deny. Undefined for an answer that is none of the choices. */
export function parseApprovalAnswer(answer: string | undefined): "once" | "session" | "deny" | undefined {
  const word = answer?.trim().toLowerCase() ?? ""
  return word === "" ? "deny" : ANSWERS.get(word)
}

/** The question again, with what each choice does. */
export function explainedChoices(): string {
  return [
    "  o  run it this time",
    "  s  run it, and calls like it until this conversation is closed",
    "  d  do not run it; the model continues without it (Enter and Ctrl+C do the same)",
    CHOICES,
  ].join("\n")
}

const CHOICES = "Allow [o]nce, for this [s]ession, or [d]eny? "

const ANSWERS: ReadonlyMap<string, "once" | "session" | "deny"> = new Map([
  ...["o", "once", "y", "yes"].map((word) => [word, "once"] as const),
  ...["s", "session"].map((word) => [word, "session"] as const),
  ...["d", "deny", "n", "no"].map((word) => [word, "deny"] as const),
])
