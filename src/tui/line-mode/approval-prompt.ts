import type { ApprovalRequest } from "../../protocol/events.ts"
import { approvalText, type ApprovalAnswer } from "../question-text/approval-text.ts"
import { indentedRows } from "../question-text/quoted-rows.ts"

export interface ApprovalQuestion {
  /** The last row is where the user types. */
  readonly text: string
  /** A part of the call is not shown; the answer `v` shows it. */
  readonly isCut: boolean
}

/** The question with everything that the user decides about. Text from the model cannot imitate the lines around it. */
export function approvalQuestion(
  request: ApprovalRequest,
  view: { readonly columns: number; readonly whole?: boolean },
): ApprovalQuestion {
  const { subject, about, rule, isCut } = approvalText(request, view)
  const text = ["Hermes wants to run:", ...subject, ...about, ...rule, choicesText(request, { isCut })].join("\n")
  return { text, isCut }
}

/** Enter alone, Ctrl+C and the end of input deny. Undefined for an answer that is none of the choices. */
export function parseApprovalAnswer(
  answer: string | undefined,
  { choices }: Pick<ApprovalRequest, "choices">,
): ApprovalAnswer | undefined {
  const word = answer?.trim().toLowerCase() ?? ""
  if (word === "y" || word === "yes") return choices.includes("once") ? "once" : "session"
  const choice = word === "" ? "deny" : ANSWERS.get(word)
  return choice !== undefined && choices.includes(choice) ? choice : undefined
}

export function asksForWholeCall(answer: string | undefined): boolean {
  return /^\s*v(?:iew)?\s*$/iu.test(answer ?? "")
}

/** The question again, with what each choice does. */
export function explainedChoices(
  request: ApprovalRequest,
  { isCut, columns }: Pick<ApprovalQuestion, "isCut"> & { readonly columns: number },
): string {
  const help = [
    ...OPTIONS.filter(isOffered(request)).map((option) => option.help),
    ...(isCut ? ["  v  show the whole call first"] : []),
  ].flatMap((line) => indentedRows(line, columns))
  return [...help, choicesText(request, { isCut })].join("\n")
}

interface Option {
  readonly choice: ApprovalAnswer
  readonly label: string
  readonly words: readonly string[]
  readonly help: string
}

const OPTIONS: readonly Option[] = [
  { choice: "once", label: "[o]nce", words: ["o", "once"], help: "  o  run it this time" },
  {
    choice: "session",
    label: "for this [s]ession",
    words: ["s", "session"],
    help: "  s  run it, and the same call again until this conversation is closed",
  },
  { choice: "always", label: "[a]lways", words: ["a", "always"], help: "  a  run it, and save the rule that is shown" },
  {
    choice: "deny",
    label: "[d]eny",
    words: ["d", "deny", "n", "no"],
    help: "  d  do not run it; the model continues without it (Enter and Ctrl+C do the same)",
  },
]

const ANSWERS: ReadonlyMap<string, ApprovalAnswer> = new Map(
  OPTIONS.flatMap(({ choice, words }) => words.map((word) => [word, choice] as const)),
)

function isOffered({ choices }: Pick<ApprovalRequest, "choices">): (option: Option) => boolean {
  return ({ choice }) => choices.includes(choice)
}

function choicesText(request: Pick<ApprovalRequest, "choices">, { isCut }: { readonly isCut: boolean }): string {
  const labels = OPTIONS.filter(isOffered(request)).map(({ label }) => label)
  const view = isCut ? "[v]iew all of it, or allow" : "Allow"
  return `${view} ${labels.slice(0, -1).join(", ")}${labels.length > 2 ? "," : ""} or ${labels.at(-1) ?? ""}? `
}
