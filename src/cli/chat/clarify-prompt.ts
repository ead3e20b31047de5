import { ellipsize } from "../../base/text.ts"
import type { ClarifyRequest } from "../../protocol/events.ts"
import { withoutControlCharacters } from "../terminal/text-layout.ts"

/** Returns the question with its choices as a numbered list; the answer is typed on the last line. */
export function clarifyQuestion(request: ClarifyRequest): string {
  const question = withoutControlCharacters(request.question).trim()
  if (request.kind !== "question") return `${question}\n(input is hidden) `
  if (request.choices.length === 0) return `${question}\nYour answer: `
  const entries = [...request.choices.map(choiceLine), ...(request.allowFreetext ? ["Other (type an answer)"] : [])]
  const list = entries.map((entry, index) => `  ${index + 1}. ${entry}`).join("\n")
  return `${question}\n${list}\n${request.allowFreetext ? "Number or answer" : "Number"}: `
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

const MAX_CHOICE_CHARS = 300

function choiceLine(choice: string): string {
  return ellipsize(withoutControlCharacters(choice).replaceAll(/\s+/gu, " ").trim(), MAX_CHOICE_CHARS)
}
