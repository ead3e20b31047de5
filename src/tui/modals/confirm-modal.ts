import { plainText } from "../../terminal/printable-text.ts"
import { indentedRows } from "../question-text/quoted-rows.ts"
import { createChoiceQuestion, type QuestionEntry } from "./choice-question.ts"
import type { Modal } from "./modal.ts"

export type Confirmation = "once" | "always" | "cancel"

export interface ConfirmQuestion {
  readonly question: string
  /** Also offers not to ask again. */
  readonly offersAlways: boolean
  readonly openedAt: number
}

/** Asks before something that cannot be undone. Cancelling is the default. */
export function createConfirmModal({ question, offersAlways, openedAt }: ConfirmQuestion): Modal<Confirmation> {
  return createChoiceQuestion<Confirmation>({
    title: "Are you sure?",
    role: "ui_warn",
    body: ({ size }) =>
      plainText(question)
        .split("\n")
        .flatMap((line) => indentedRows(`  ${line}`, size.columns)),
    entries: () => (offersAlways ? [YES, ALWAYS, CANCEL] : [YES, CANCEL]),
    initial: "cancel",
    cancel: "cancel",
    expiresAt: null,
    hint: ["Arrows, number or letter, then Enter", "Esc cancels"],
    openedAt,
  })
}

const YES: QuestionEntry<Confirmation> = { value: "once", label: "Yes", short: "[y]es", letters: ["y", "o"] }
const ALWAYS: QuestionEntry<Confirmation> = {
  value: "always",
  label: "Yes, and do not ask about such commands again",
  short: "[a]lways",
  letters: ["a"],
}
const CANCEL: QuestionEntry<Confirmation> = { value: "cancel", label: "No", short: "[n]o", letters: ["n", "c"] }
