import type { ApprovalChoice, ApprovalRequest, ShownSandbox, UnderstoodProgram } from "../../protocol/events.ts"
import { indentedRows, quotedText, visibleLine } from "./quoted-rows.ts"

export type ApprovalAnswer = Exclude<ApprovalChoice, "timeout">

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
  const { name, args } = request.call
  const subject = request.command ?? (Object.keys(args).length === 0 ? name : `${name} ${JSON.stringify(args)}`)
  const { rows, notes, left } = quotedText(subject, view)
  const isCut = left > 0
  const about = [
    ...notes.map((note) => `  ! ${note}`),
    ...(request.masked === true ? ["  ! a secret that Hermes knows is masked; the real value is used"] : []),
    ...circumstances(request),
    ...why(request),
  ].flatMap((line) => indentedRows(line, view.columns))
  const text = [
    "Hermes wants to run:",
    ...rows,
    ...about,
    ...savedRule(request, view.columns),
    choicesText(request, { isCut }),
  ].join("\n")
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

/** Where and how it would run, and what it would start. */
function circumstances(request: ApprovalRequest): readonly string[] {
  const { kind, directory, background, pty, sandbox } = request
  if (kind !== "command") return []
  const how = [
    ...(background === true ? ["in the background"] : []),
    ...(pty === true ? ["in a pseudo-terminal"] : []),
    ...(sandbox === undefined ? [] : [sandboxText(sandbox)]),
  ]
  const where = directory === undefined ? "in a directory that is not known" : `in ${visibleLine(directory)}`
  return [`  ${[where, ...how].join(", ")}`, ...otherArguments(request), ...startedPrograms(request)]
}

function sandboxText(sandbox: ShownSandbox): string {
  switch (sandbox.kind) {
    case "none":
      return "without a sandbox"
    case "container":
      return "in a container"
    case "sandbox":
      return `in the sandbox, ${NETWORK_TEXT[sandbox.network]}`
    default:
      return sandbox satisfies never
  }
}

const NETWORK_TEXT = {
  off: "without the network",
  list: "with the network for listed hosts",
  on: "with the network",
} as const

/** What the call contains besides its command. */
function otherArguments({ call, command }: ApprovalRequest): readonly string[] {
  const others = Object.entries(call.args).filter(
    ([name, value]) => value !== command && !SHOWN_ARGUMENTS.has(name) && value !== undefined,
  )
  return others.map(([name, value]) => `  ${visibleLine(name)}: ${bounded(visibleLine(JSON.stringify(value)))}`)
}

const SHOWN_ARGUMENTS: ReadonlySet<string> = new Set(["background", "pty", "workdir"])

const MAX_PROGRAMS = 10
const MAX_LINE_CHARS = 300

/** The programs that the text of the command does not show as they are. */
function startedPrograms({ command = "", directory, understood = [] }: ApprovalRequest): readonly string[] {
  const written = shellWords(command)
  const isHidden = (program: UnderstoodProgram): boolean =>
    program.wrappers.length > 0 || program.directory !== directory || !written.includes(shellWords(program.command))
  const hidden = understood.filter(isHidden)
  const lines = hidden.slice(0, MAX_PROGRAMS).map((program) => {
    const through = program.wrappers.length === 0 ? "" : ` (through ${visibleLine(program.wrappers.join(" "))})`
    const where =
      program.directory === directory ? "" : ` in ${visibleLine(program.directory ?? "an unknown directory")}`
    return `  runs ${bounded(visibleLine(program.command))}${through}${where}`
  })
  const rest = hidden.length - lines.length
  return rest > 0 ? [...lines, `  and ${rest} more programs`] : lines
}

/** The words and operators, each between spaces. Quotes around whole words and the width of spaces change nothing. */
function shellWords(text: string): string {
  const unquoted = text.replaceAll(/(?<=^|[\s=])["']|["'](?=$|[\s;|&)])/gu, "")
  return ` ${unquoted
    .replaceAll(/[;|&(){}`<>]+/gu, " $& ")
    .replaceAll(/\s+/gu, " ")
    .trim()} `
}

function bounded(text: string): string {
  const rest = text.length - MAX_LINE_CHARS
  return rest > 0 ? `${text.slice(0, MAX_LINE_CHARS)}… (${rest} more characters)` : text
}

function why({ description, reasons = [] }: ApprovalRequest): readonly string[] {
  const first = visibleLine(description)
  const others = reasons.map(visibleLine).filter((reason) => !first.includes(reason))
  return [`This needs your approval: ${bounded(first)}.`, ...others.map((reason) => `  - ${bounded(reason)}`)]
}

function savedRule({ choices, pattern }: ApprovalRequest, columns: number): readonly string[] {
  if (pattern === undefined || !choices.includes("always")) return []
  return ['"Always" saves this rule:', ...quotedText(pattern, { columns, whole: true }).rows]
}
