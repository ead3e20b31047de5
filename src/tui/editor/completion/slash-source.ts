import { fuzzyFilter } from "../../../base/fuzzy-score.ts"
import type { Completion, CompletionSource } from "./completion-source.ts"
import { NO_COMPLETIONS } from "./completion-source.ts"

/** A command that can be typed after a slash. */
export interface SlashEntry {
  readonly name: string
  readonly detail: string
  readonly aliases?: readonly string[]
  /** As in help: `[list | search WORDS]`. Words in lower case are sub-commands and flags. */
  readonly argument?: string
  /** What the first argument can name. */
  readonly values?: (signal: AbortSignal) => Promise<readonly Completion[]>
}

/** Completes slash commands, their sub-commands and what their first argument names. */
export function slashSource(entries: (signal: AbortSignal) => Promise<readonly SlashEntry[]>): CompletionSource {
  return {
    complete: async (text, cursor, signal) => {
      const [typed, name = "", gap = "", word = ""] = /^\/([^\s/]*)(?:(\s+)(\S*))?$/u.exec(text.slice(0, cursor)) ?? []
      if (typed === undefined || /^\S/u.test(text.slice(cursor))) return NO_COMPLETIONS
      const known = await entries(signal)
      if (gap === "") return { start: 0, end: cursor, items: commandItems(known, name) }
      const entry = known.find((candidate) => isNamed(candidate, name.toLowerCase()))
      if (entry === undefined) return NO_COMPLETIONS
      const values = [...argumentWords(entry.argument ?? ""), ...((await entry.values?.(signal)) ?? [])]
      const items = fuzzyFilter(word, values, (item) => item.label ?? item.text.trim())
      return { start: cursor - word.length, end: cursor, items, isOptional: true }
    },
  }
}

function isNamed({ name, aliases = [] }: SlashEntry, typed: string): boolean {
  return name === typed || aliases.includes(typed)
}

function commandItems(entries: readonly SlashEntry[], typed: string): readonly Completion[] {
  const named = entries.map(({ name, detail }) => ({ name, detail }))
  // Aliases are offered only to those who type them.
  const aliases = entries.flatMap(({ name, aliases: others = [] }) =>
    others
      .filter((alias) => typed !== "" && alias.startsWith(typed.toLowerCase()))
      .map((alias) => ({ name: alias, detail: `the same as /${name}` })),
  )
  return fuzzyFilter(typed, [...named, ...aliases], ({ name }) => name).map(({ name, detail }) => ({
    text: `/${name} `,
    label: `/${name}`,
    detail,
  }))
}

/** The sub-commands and flags of `[list | search WORDS]`, with what follows each. */
function argumentWords(argument: string): readonly Completion[] {
  return Array.from(
    argument.matchAll(/(?:^|\[|\s\|\s)((?:--)?[a-z][\w-]*)((?:(?!\s\|\s|\][^\]]*$)[^[\]])*)/gu),
    ([, word = "", rest = ""]) => ({ text: `${word} `, label: word, detail: rest.trim() }),
  )
}
