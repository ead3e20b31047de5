import { CliError } from "../../command.ts"
import { fitColumn, oneLine } from "../../../terminal/text-layout.ts"
import type { Terminal } from "../../../terminal/terminal.ts"

/** One line of a numbered list. */
export interface Option<T> {
  readonly name: string
  readonly note: string
  readonly value: T
}

/** The user narrows a longer list by typing a part of a name. */
const MAX_SHOWN = 30

/** Asks for one line of text. Ctrl+D ends the command without a change. */
export async function askText(
  terminal: Terminal,
  question: string,
  options: { readonly secret?: boolean } = {},
): Promise<string> {
  const answer = await terminal.ask(question, options)
  // A key never begins with a slash, a command such as /quit does.
  if (answer === undefined || (options.secret === true && answer.trim().startsWith("/")))
    throw new CliError("Nothing was changed.", { exitCode: 1 })
  return answer.trim()
}

export interface OptionPrompt {
  readonly what: string
  readonly current?: string
  /** Says what is wrong with other text than a name of the list; undefined when it is accepted. */
  readonly refuse?: (text: string) => string | undefined
}

/**
 * Asks for one of the options, by number or by name. A part of a name narrows the list; any other text is returned as typed, unless
 * it is refused. An empty answer selects `current`, if there is one. The list is printed again only when it has changed or for `?`.
 */
export async function askOption<T>(
  terminal: Terminal,
  options: readonly Option<T>[],
  prompt: OptionPrompt,
): Promise<{ readonly kind: "option"; readonly value: T } | { readonly kind: "typed"; readonly text: string }> {
  let shown = options
  showOptions(terminal, shown)
  for (;;) {
    const answer = await askText(terminal, questionText(prompt))
    if (answer === "?") {
      shown = options
      showOptions(terminal, shown)
      continue
    }
    const problem = answerProblem(answer, shown.length, prompt)
    if (problem !== undefined) {
      terminal.errLine(`${problem} ${HELP}`)
      continue
    }
    if (answer === "" && prompt.current !== undefined) return { kind: "typed", text: prompt.current }
    const found = shown[Number(answer) - 1] ?? options.find(({ name }) => name.toLowerCase() === answer.toLowerCase())
    if (found !== undefined) return { kind: "option", value: found.value }
    const similar = options.filter(({ name }) => name.toLowerCase().includes(answer.toLowerCase()))
    if (similar.length > 0 && similar.length !== shown.length) {
      shown = similar
      showOptions(terminal, shown)
      continue
    }
    const refusal = prompt.refuse?.(answer)
    if (refusal === undefined) return { kind: "typed", text: answer }
    terminal.errLine(`${refusal} ${HELP}`)
  }
}

const HELP = "Type ? for the list, or press Ctrl+D to leave."

function answerProblem(answer: string, count: number, { current }: OptionPrompt): string | undefined {
  if (answer === "") return current === undefined ? "Type a number or a name." : undefined
  const isNumber = /^\d+$/.test(answer) && count > 0
  return isNumber && (Number(answer) < 1 || Number(answer) > count)
    ? `There is no number ${answer} in this list.`
    : undefined
}

function questionText({ what, current }: OptionPrompt): string {
  return current === undefined ? `${what}: ` : `${what} [${current}]: `
}

function showOptions<T>(terminal: Terminal, options: readonly Option<T>[]): void {
  const width = Math.min(48, Math.max(0, ...options.slice(0, MAX_SHOWN).map(({ name }) => name.length)) + 1)
  for (const [index, { name, note }] of options.slice(0, MAX_SHOWN).entries()) {
    terminal.errLine(`${String(index + 1).padStart(3)}  ${fitColumn(name, width)} ${oneLine(note)}`.trimEnd())
  }
  const more = options.length - MAX_SHOWN
  if (more > 0) terminal.errLine(`     … ${more} more; type a part of the name to see them`)
}
