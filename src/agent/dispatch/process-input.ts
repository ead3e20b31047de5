import { understandCommand } from "../../policy/shell/understand-command.ts"
import type { ShellState } from "../../policy/shell/understood-command.ts"
import type { CommandFacts, CommandFinding, CommandVerdict } from "../../policy/commands/command-verdict.ts"
import type { JudgedCommand } from "../../policy/policy-request.ts"
import {
  codeFindings,
  inputPathNames,
  inputReaders,
  isAboutAnyCode,
  pathFindings,
  withInput,
} from "../../policy/program-input.ts"
import type { StartedProcess } from "../../policy/program-input.ts"

/**
 * What was sent to a running program that may be a shell. Text is judged together with the line that it continues, and with what the
 * lines before it left behind.
 */
export interface ProcessInput {
  /** Sent before, without the end of a command. */
  readonly unfinished: string
  /** Undefined before the first line. */
  readonly state: ShellState | undefined
  /** Earlier input may have opened a shell in the program, so that its input is judged as command lines too. */
  readonly mayBeShell?: true
}

export const NO_INPUT: ProcessInput = { unfinished: "", state: undefined }

/** The input as a shell reads it: Enter on a terminal is a carriage return. */
export function inputLine({ unfinished }: ProcessInput, data: string): string {
  return unfinished + data.replaceAll(/\r\n?/gu, "\n")
}

/** What the next input continues. A longer text is cut at a line, so that a session cannot grow without end. */
export function afterInput(
  { state, unfinished, mayBeShell }: ProcessInput,
  sent: {
    readonly line: string
    readonly initial: ShellState
    readonly userHome: string
    /** False for a program with another language, in which every line ends. */
    readonly isShell: boolean
  },
): ProcessInput {
  const { initial, userHome, isShell } = sent
  const opened = mayBeShell === true ? { mayBeShell } : {}
  if (INTERRUPT.test(sent.line.slice(unfinished.length))) return { unfinished: "", state, ...opened }
  const line = sent.line.slice(-MAX_CHARS)
  if (!isShell) return { unfinished: lastLine(line), state, ...opened }
  const understood = understandCommand(line, state ?? initial, { userHome })
  const isOpen = understood.doubts.some(({ kind, reason }) => kind === "syntax" && !reason.includes(NOT_SHELL))
  const isComplete = line.endsWith("\n") && !CONTINUATION.test(line) && !isOpen
  return isComplete ? { unfinished: "", state: understood.after, ...opened } : { unfinished: line, state, ...opened }
}

/** What more text cannot repair: a shell drops the line, and another program, such as a Python prompt, has its own language. */
const NOT_SHELL = "unexpected token"
const CONTINUATION = /(?<!\\)(?:\\\\)*\\\n$/u

const MAX_CHARS = 20_000
// oxlint-disable-next-line no-control-regex -- keys are control characters
const INTERRUPT = /^[\u0003\u0004\u001a\u001c]$/u

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1)
}

export interface InputJudgement {
  readonly before: ProcessInput
  /** What the process was started with; undefined when that is not known. */
  readonly started: StartedProcess | undefined
  /** The state of the session's shell. */
  readonly state: ShellState
  readonly facts: Omit<CommandFacts, "realPath">
  readonly judge: (line: string, state: ShellState) => Promise<JudgedCommand>
  readonly realPaths: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

interface JudgedInput {
  readonly command: JudgedCommand
  /** Its lines are command lines, as far as is known. */
  readonly isShell: boolean
  readonly mayBeShell?: true
  /** Files that the process writes with this input. */
  readonly written?: ShellState
}

/** Input becomes what the program makes of it: a command line for a shell, code for an interpreter, names for `xargs`. */
export async function judgeInput(line: string, judgement: InputJudgement): Promise<JudgedInput> {
  const { before, started, state, facts, judge, realPaths } = judgement
  const asShell = await judge(line, before.state ?? state)
  if (started === undefined) return { command: asShell, isShell: true }
  const initial = { ...state, directory: started.directory }
  const readers = inputReaders(started, initial, facts.userHome)
  if (readers.every(({ kind }) => kind === "shell")) return { command: asShell, isShell: true }
  // A shell may wait for the end of a quote; other programs read lines.
  const text = lastLine(before.unfinished) + line.slice(before.unfinished.length)
  const code = readers.filter(({ kind }) => kind === "code").flatMap((reader) => codeFindings(text, reader))
  const real = await realPaths(inputPathNames(text, started.directory, facts.userHome))
  const named = pathFindings(text, {
    directory: started.directory,
    facts: { ...facts, realPath: (path) => real.get(path) ?? path },
  })
  const [alone, fed] = await Promise.all([judge(started.command, initial), judge(withInput(started, text), initial)])
  const isCodeOnly = readers.every(({ kind }) => kind === "code")
  const isNew = ({ key, level }: CommandFinding): boolean =>
    !alone.verdict.findings.some((known) => known.key === key && known.level === level) &&
    !(isCodeOnly && level === "ask" && isAboutAnyCode(key, readers))
  const added = fed.verdict.findings.filter(isNew)
  const isShell = !isCodeOnly || before.mayBeShell === true
  const own = isShell ? asShell.verdict.findings : []
  const runsCode = [...code, ...added].some(({ effects }) => effects.some(({ kind }) => kind === "code"))
  return {
    command: {
      ...asShell,
      isReadOnly: false,
      verdict: joined(asShell.verdict, {
        findings: [...own, ...code, ...added, ...named],
        outside: isShell ? asShell.verdict.outside : [],
      }),
    },
    isShell,
    ...(runsCode || before.mayBeShell === true ? { mayBeShell: true } : {}),
    written: fed.verdict.understood.after,
  }
}

function joined(
  verdict: CommandVerdict,
  { findings, outside }: Pick<CommandVerdict, "findings" | "outside">,
): CommandVerdict {
  const sorted = findings.toSorted((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level))
  return { ...verdict, findings: sorted, outside, level: sorted[0]?.level ?? "ok" }
}

const LEVELS: readonly CommandFinding["level"][] = ["hardline", "sudo_guard", "ask_person", "ask"]

/** Keys that delete, complete or recall text: what the program reads is not what was sent. */
export function keyFinding(line: string): CommandFinding | undefined {
  const withoutKeys = line.replaceAll(KEY_SEQUENCES, "")
  const isEdited = withoutKeys !== line && withoutKeys.trim() !== ""
  if (!isEdited && !COMPLETION.test(line)) return undefined
  return {
    level: "ask_person",
    key: "keys in the input",
    description: "it contains keys that change the line, so that another command may run than the one shown",
    view: "text",
    effects: [{ kind: "person" }],
  }
}

// oxlint-disable-next-line no-control-regex -- keys are control characters
const KEY_SEQUENCES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|O.|.)?|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/gu
const COMPLETION = /\S\t/u
