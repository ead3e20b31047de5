import { CliError } from "../../command.ts"
import { fitColumn, oneLine } from "../../text-layout.ts"
import type { Terminal } from "../../terminal.ts"

/** One line of a numbered list. */
export interface Option<T> {
  readonly name: string
  readonly note: string
  readonly value: T
}

/** At most so many lines at once: a longer list is narrowed by typing a part of a name. */
const SHOWN = 30

/** A line the person typed; Ctrl+D leaves everything as it was. */
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
 * A numbered choice. Takes the number, the name, or a part of it that shortens the list; anything else is given back as typed. An
 * empty answer keeps `current`, where there is one.
 */
export async function askOption<T>(
  terminal: Terminal,
  options: readonly Option<T>[],
  wanted: { readonly what: string; readonly current?: string },
): Promise<{ readonly kind: "option"; readonly value: T } | { readonly kind: "typed"; readonly text: string }> {
  let shown = options
  for (;;) {
    showOptions(terminal, shown)
    const answer = await askText(terminal, questionFor(wanted))
    if (answer === "" && wanted.current !== undefined) return { kind: "typed", text: wanted.current }
    if (answer === "") continue
    const found = shown[Number(answer) - 1] ?? options.find(({ name }) => name.toLowerCase() === answer.toLowerCase())
    if (found !== undefined) return { kind: "option", value: found.value }
    const similar = options.filter(({ name }) => name.toLowerCase().includes(answer.toLowerCase()))
    if (similar.length === 0 || similar.length === shown.length) return { kind: "typed", text: answer }
    shown = similar
  }
}

function questionFor({ what, current }: { readonly what: string; readonly current?: string }): string {
  return current === undefined ? `${what}: ` : `${what} [${current}]: `
}

function showOptions<T>(terminal: Terminal, options: readonly Option<T>[]): void {
  const width = Math.min(48, Math.max(0, ...options.slice(0, SHOWN).map(({ name }) => name.length)) + 1)
  for (const [index, { name, note }] of options.slice(0, SHOWN).entries()) {
    terminal.errLine(`${String(index + 1).padStart(3)}  ${fitColumn(name, width)} ${oneLine(note)}`.trimEnd())
  }
  const more = options.length - SHOWN
  if (more > 0) terminal.errLine(`     … ${more} more; type a part of the name to see them`)
}
