import type { ApprovalChoice, ApprovalRequest, ShownSandbox, UnderstoodProgram } from "../../protocol/events.ts"
import { cutToColumns } from "../../terminal/text-layout.ts"
import { indentedRows, quotedText, visibleLine, type QuoteOptions } from "./quoted-rows.ts"

export type ApprovalAnswer = Exclude<ApprovalChoice, "timeout">

/** What the user decides about, in rows of the screen. Text from the model cannot imitate the lines around it. */
export interface ApprovalText {
  /** The command, or the call with its arguments. */
  readonly subject: readonly string[]
  /** Unusual characters, where and how it would run, and why it needs approval. */
  readonly about: readonly string[]
  /** The rule that "always" saves; empty where that is not offered. */
  readonly rule: readonly string[]
  /** A part of the call is not shown. */
  readonly isCut: boolean
}

export function approvalText(request: ApprovalRequest, view: QuoteOptions): ApprovalText {
  const { rows, shown, notes, left } = quotedText(approvalSubject(request), view)
  const isCut = left > 0
  const about = [
    ...notes.map((note) => `  ! ${note}`),
    ...(request.masked === true ? ["  ! a secret that Hermes knows is masked; the real value is used"] : []),
    ...circumstances(request, isCut ? shown : (request.command ?? "")),
    ...why(request),
  ].flatMap((line) => indentedRows(line, view.columns))
  return { subject: rows, about, rule: savedRule(request, view.columns), isCut }
}

/** One row for the transcript: what the user has decided about which call. */
export function approvalDecisionText(request: ApprovalRequest, choice: ApprovalChoice, columns: number): string {
  return cutToColumns(`${DECISION_TEXT[choice]}: ${visibleLine(approvalSubject(request))}`, columns)
}

const DECISION_TEXT: Readonly<Record<ApprovalChoice, string>> = {
  once: "Allowed once",
  session: "Allowed for this session",
  always: "Always allowed",
  deny: "Denied",
  timeout: "Denied, because there was no answer in time",
}

function approvalSubject({ call, command }: ApprovalRequest): string {
  const { name, args } = call
  return command ?? (Object.keys(args).length === 0 ? name : `${name} ${JSON.stringify(args)}`)
}

/** Where and how it would run, and what it would start. */
function circumstances(request: ApprovalRequest, shown: string): readonly string[] {
  const { kind, directory, background, pty, sandbox } = request
  if (kind !== "command") return []
  const how = [
    ...(background === true ? ["in the background"] : []),
    ...(pty === true ? ["in a pseudo-terminal"] : []),
    ...(sandbox === undefined ? [] : [sandboxText(sandbox)]),
  ]
  const where = directory === undefined ? "in a directory that is not known" : `in ${visibleLine(directory)}`
  return [`  ${[where, ...how].join(", ")}`, ...otherArguments(request), ...startedPrograms(request, shown)]
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

/** The programs that the shown part of the command does not contain as they are. */
function startedPrograms({ directory, understood = [] }: ApprovalRequest, shown: string): readonly string[] {
  const written = shellWords(shown)
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

function savedRule({ choices, pattern, patternScope }: ApprovalRequest, columns: number): readonly string[] {
  if (pattern === undefined || !choices.includes("always")) return []
  const rows = ['"Always" saves this rule:', ...quotedText(pattern, { columns, whole: true }).rows]
  return patternScope === undefined ? rows : [...rows, `  ${bounded(visibleLine(patternScope))}`]
}
