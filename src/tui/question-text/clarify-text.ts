import { ellipsize } from "../../base/text.ts"
import type { ClarifyRequest } from "../../protocol/events.ts"
import { visibleLine } from "./quoted-rows.ts"

/** A question of the model is marked as one, so that it cannot pass for a question of Hermes or of another program. */
export function whoAsks(request: Pick<ClarifyRequest, "asker">): string {
  const warning = passwordWarning(request)
  return `${askerText(request)}${warning === undefined ? "" : ` (${warning})`}:`
}

export function askerText({ asker }: Pick<ClarifyRequest, "asker">): string {
  return asker === "hermes" ? "Hermes asks" : "The model asks"
}

export function passwordWarning({ asker }: Pick<ClarifyRequest, "asker">): string | undefined {
  return asker === "hermes" ? undefined : "it reads your answer, so give it no password"
}

/** The entry after the choices of the model. */
export const OTHER_CHOICE = "Other (type an answer)"

/** What the model reads when the user does not answer. */
export const CANCELLED_ANSWER =
  "(The user cancelled this question. Continue without an answer, or explain why you need it.)"

/** A choice of the model on one line. */
export function choiceLine(choice: string): string {
  return ellipsize(visibleLine(choice).replaceAll(/\s+/gu, " ").trim(), MAX_CHOICE_CHARS)
}

const MAX_CHOICE_CHARS = 300

/** Why a question was closed without the user's answer. */
export const CLOSED_ELSEWHERE = "The question was closed; Hermes continues without your answer."
export const CLARIFY_TIMED_OUT = "There was no answer in time; Hermes continues without one."
