import { ellipsize } from "../../base/text.ts"
import type { ClarifyRequest } from "../../protocol/events.ts"
import { printable } from "./printable-text.ts"

/** The question with its choices as a numbered list, ready to be answered on the same line. */
export function clarifyQuestion(request: ClarifyRequest): string {
  const question = printable(request.question).trim()
  if (request.kind !== "question") return `${question}\n(what you type is not shown) `
  if (request.choices.length === 0) return `${question}\nYour answer: `
  const entries = [...request.choices.map(oneLine), ...(request.allowFreetext ? ["Other (type an answer)"] : [])]
  const list = entries.map((entry, index) => `  ${index + 1}. ${entry}`).join("\n")
  return `${question}\n${list}\n${request.allowFreetext ? "Number or answer" : "Number"}: `
}

/** What a typed line means: the answer, the wish to type one, or nothing that can be used. */
export type ClarifyReply =
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "other" }
  | { readonly kind: "unclear"; readonly hint: string }

export function readClarify(line: string, request: ClarifyRequest): ClarifyReply {
  const { choices, allowFreetext } = request
  // Spaces may belong to a password.
  if (request.kind !== "question") return { kind: "answer", text: line }
  const text = line.trim()
  if (text === "") return { kind: "unclear", hint: "Type an answer, or Ctrl+C for none." }
  if (choices.length === 0) return { kind: "answer", text }
  const number = Number(/^(\d{1,3})[.)]?$/u.exec(text)?.[1] ?? Number.NaN)
  const chosen = choices[number - 1] ?? choiceNamed(text, choices, { shortened: !allowFreetext })
  if (chosen !== undefined) return { kind: "answer", text: chosen }
  if (!allowFreetext) return { kind: "unclear", hint: `Type a number from 1 to ${choices.length}, or Ctrl+C for none.` }
  return number === choices.length + 1 || text.toLowerCase() === "other" ? { kind: "other" } : { kind: "answer", text }
}

/** The choice in words. Where words cannot mean anything else, the beginning of a single choice is enough: `y` for Yes. */
function choiceNamed(
  text: string,
  choices: readonly string[],
  { shortened }: { readonly shortened: boolean },
): string | undefined {
  const words = text.toLowerCase()
  const exact = choices.find((choice) => choice.trim().toLowerCase() === words)
  if (exact !== undefined || !shortened) return exact
  const [first, ...others] = choices.filter((choice) => choice.trim().toLowerCase().startsWith(words))
  return others.length === 0 ? first : undefined
}

const MAX_CHOICE_CHARS = 300

function oneLine(choice: string): string {
  return ellipsize(printable(choice).replaceAll(/\s+/gu, " ").trim(), MAX_CHOICE_CHARS)
}
