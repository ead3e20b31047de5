import { understandCommand } from "../../policy/shell/understand-command.ts"
import type { ShellState } from "../../policy/shell/understood-command.ts"
import type { CommandFinding } from "../../policy/commands/command-verdict.ts"

/**
 * What was sent to a running program that may be a shell. Text is judged together with the line that it continues, and with what the
 * lines before it left behind.
 */
export interface ProcessInput {
  /** Sent before, without the end of a command. */
  readonly unfinished: string
  /** Undefined before the first line. */
  readonly state: ShellState | undefined
}

export const NO_INPUT: ProcessInput = { unfinished: "", state: undefined }

/** The input as a shell reads it: Enter on a terminal is a carriage return. */
export function inputLine({ unfinished }: ProcessInput, data: string): string {
  return unfinished + data.replaceAll(/\r\n?/gu, "\n")
}

/** What the next input continues. A longer text is cut at a line, so that a session cannot grow without end. */
export function afterInput(
  { state, unfinished }: ProcessInput,
  sent: { readonly line: string; readonly initial: ShellState; readonly userHome: string },
): ProcessInput {
  const { initial, userHome } = sent
  if (INTERRUPT.test(sent.line.slice(unfinished.length))) return { unfinished: "", state }
  const line = sent.line.slice(-MAX_CHARS)
  const understood = understandCommand(line, state ?? initial, { userHome })
  const isOpen = understood.doubts.some(({ kind, reason }) => kind === "syntax" && !reason.includes(NOT_SHELL))
  const isComplete = line.endsWith("\n") && !CONTINUATION.test(line) && !isOpen
  return isComplete ? { unfinished: "", state: understood.after } : { unfinished: line, state }
}

/** What more text cannot repair: a shell drops the line, and another program, such as a Python prompt, has its own language. */
const NOT_SHELL = "unexpected token"
const CONTINUATION = /(?<!\\)(?:\\\\)*\\\n$/u

const MAX_CHARS = 20_000
// oxlint-disable-next-line no-control-regex -- keys are control characters
const INTERRUPT = /^[\u0003\u0004\u001a\u001c]$/u

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
