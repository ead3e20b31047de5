import { readCommandLine } from "../../policy/shell/written-commands.ts"

/**
 * `a && b &` puts the whole list into a subshell, which then waits for `b` and keeps the output open. With `a && { b & }` only `b` goes to
 * the background. Lists inside parentheses, braces or compound commands stay unchanged.
 */
export function rewriteCompoundBackground(command: string): string {
  if (!command.includes("&")) return command
  const { backgroundLists, hasErrors } = readCommandLine(command)
  if (hasErrors) return command
  return backgroundLists.toReversed().reduce((text, { from, to }) => {
    const rest = text.slice(to)
    const needsSeparator = !/^[ \t]*(?:[\n;)#]|$)/u.test(rest)
    return `${text.slice(0, from)}{ ${text.slice(from, to)}${needsSeparator ? " };" : " }"}${rest}`
  }, command)
}
