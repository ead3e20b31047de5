import { CliError } from "../../command.ts"
import { fitColumn, oneLine } from "../../terminal/text-layout.ts"
import type { Terminal } from "../../terminal/terminal.ts"

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
  if (answer === undefined) throw new CliError("Nothing was changed.", { exitCode: 1 })
  return answer.trim()
}

/**
 * Asks for one of the options, by number or by name. A part of a name narrows the list; any other text is returned as typed. An
 * empty answer selects `current`, if there is one.
 */
export async function askOption<T>(
  terminal: Terminal,
  options: readonly Option<T>[],
  prompt: { readonly what: string; readonly current?: string },
): Promise<{ readonly kind: "option"; readonly value: T } | { readonly kind: "typed"; readonly text: string }> {
  let shown = options
  for (;;) {
    showOptions(terminal, shown)
    const answer = await askText(terminal, questionText(prompt))
    if (answer === "" && prompt.current !== undefined) return { kind: "typed", text: prompt.current }
    if (answer === "") continue
    const found = shown[Number(answer) - 1] ?? options.find(({ name }) => name.toLowerCase() === answer.toLowerCase())
    if (found !== undefined) return { kind: "option", value: found.value }
    if (/^\d+$/.test(answer) && shown.length > 0) {
      terminal.errLine(`There is no number ${answer} in this list.`)
      continue
    }
    const similar = options.filter(({ name }) => name.toLowerCase().includes(answer.toLowerCase()))
    if (similar.length === 0 || similar.length === shown.length) return { kind: "typed", text: answer }
    shown = similar
  }
}

function questionText({ what, current }: { readonly what: string; readonly current?: string }): string {
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
