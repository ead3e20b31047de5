import type { ClarifyRequest } from "../../protocol/events.ts"
import { choiceLine, OTHER_CHOICE, whoAsks } from "../question-text/clarify-text.ts"
import { indentedRows, quotedText, visibleLine } from "../question-text/quoted-rows.ts"

/**
 * Returns the question with its choices as a numbered list; the answer is typed on the last line. A question of the model is marked as
 * one, so that it cannot pass for a question of Hermes or of another program; only Hermes asks for secrets.
 */
export function clarifyQuestion(request: ClarifyRequest, { columns }: { readonly columns: number }): string {
  const { kind, choices, allowFreetext } = request
  if (kind !== "question") {
    const question = indentedRows(`Hermes asks: ${visibleLine(request.question.trim())}`, columns)
    return [...question, "(input is hidden) "].join("\n")
  }
  const { rows, notes } = quotedText(request.question.trim(), { columns, whole: true })
  const entries = [...choices.map(choiceLine), ...(allowFreetext && choices.length > 0 ? [OTHER_CHOICE] : [])]
  const list = entries.flatMap((entry, index) => indentedRows(`  ${index + 1}. ${entry}`, columns))
  const last = choices.length === 0 ? "Your answer" : allowFreetext ? "Number or answer" : "Number"
  return [
    ...indentedRows(whoAsks(request), columns),
    ...rows,
    ...notes.flatMap((note) => indentedRows(`  ! ${note}`, columns)),
    ...list,
    `${last}: `,
  ].join("\n")
}

/** A parsed line: the answer, the request to type a free answer, or neither. */
export type ClarifyReply =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "other" }
  | { readonly kind: "unclear"; readonly hint: string }

export function parseClarifyAnswer(line: string, request: ClarifyRequest): ClarifyReply {
  const { choices, allowFreetext } = request
  // Spaces may be part of a password.
  if (request.kind !== "question") return { kind: "answer", text: line }
  const text = line.trim()
  if (text === "") return { kind: "unclear", hint: "Type an answer, or press Ctrl+C to skip." }
  if (choices.length === 0) return { kind: "answer", text }
  const number = Number(/^(\d{1,3})[.)]?$/u.exec(text)?.[1] ?? Number.NaN)
  const chosen = choices[number - 1] ?? findChoice(text, choices, { byPrefix: !allowFreetext })
  if (chosen !== undefined) return { kind: "answer", text: chosen }
  if (!allowFreetext)
    return { kind: "unclear", hint: `Type a number from 1 to ${choices.length}, or press Ctrl+C to skip.` }
  return number === choices.length + 1 || text.toLowerCase() === "other" ? { kind: "other" } : { kind: "answer", text }
}

/** Finds a choice by its text, or, if no free text is allowed, by the unique beginning of it: `y` for Yes. */
function findChoice(
  text: string,
  choices: readonly string[],
  { byPrefix }: { readonly byPrefix: boolean },
): string | undefined {
  const words = text.toLowerCase()
  const exact = choices.find((choice) => choice.trim().toLowerCase() === words)
  if (exact !== undefined || !byPrefix) return exact
  const [first, ...others] = choices.filter((choice) => choice.trim().toLowerCase().startsWith(words))
  return others.length === 0 ? first : undefined
}
