import type { Draft } from "../../terminal/editor/draft.ts"

/** What could follow the draft: the rest of the newest message in the history, or of a command, that starts with it; otherwise "". */
export function suggestRest(
  { text, cursor }: Draft,
  sources: { readonly history: readonly string[]; readonly commands: readonly string[] },
): string {
  if (text === "" || cursor !== text.length || text.includes("\n")) return ""
  const isCommand = /^\/\S*$/u.test(text)
  const found = isCommand
    ? sources.commands.find((name) => `/${name}`.startsWith(text.toLowerCase()))
    : sources.history.findLast((entry) => entry.length > text.length && entry.startsWith(text))
  if (found === undefined) return ""
  return isCommand ? `/${found}`.slice(text.length) : found.slice(text.length)
}
