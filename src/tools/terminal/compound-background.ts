import { lexShell } from "./shell-lexer.ts"
import type { ShellToken } from "./shell-lexer.ts"

/**
 * `a && b &` puts the whole list into a subshell, which then waits for `b` and keeps the output open. With `a && { b & }` only `b` goes to
 * the background. Lists inside parentheses, braces or compound commands stay unchanged.
 */
export function rewriteCompoundBackground(command: string): string {
  const edits: { readonly at: number; readonly insert: string }[] = []
  const tokens = lexShell(command)
  let depth = 0
  let chained: number | undefined
  for (const [index, token] of tokens.entries()) {
    depth += nesting(token, tokens[index - 1])
    if (token.kind !== "operator" || depth !== 0) continue
    if (token.text === "&&" || token.text === "||") chained = index
    else if (token.text === "&" && chained !== undefined) {
      const from = tokens.slice(chained + 1, index).find(({ text }) => text !== "\n")
      const next = tokens[index + 1]
      const needsSeparator = next !== undefined && !["\n", ";", ")"].includes(next.text)
      if (from !== undefined) {
        edits.push({ at: from.start, insert: "{ " }, { at: token.end, insert: needsSeparator ? " };" : " }" })
      }
      chained = undefined
    } else if (ENDS_LIST.has(token.text) && index - 1 !== chained) chained = undefined
  }
  return depth === 0
    ? edits.toReversed().reduce((text, { at, insert }) => text.slice(0, at) + insert + text.slice(at), command)
    : command
}

const ENDS_LIST = new Set([";", "&", "\n", ";;", ";&", ";;&"])
const OPENS = new Set(["{", "if", "case", "for", "while", "until", "select"])
const CLOSES = new Set(["}", "fi", "esac", "done"])

/** Reserved words count only where a command may begin. */
function nesting(token: ShellToken, before: ShellToken | undefined): number {
  if (token.kind === "operator") return token.text === "(" ? 1 : token.text === ")" ? -1 : 0
  if (token.kind !== "word") return 0
  const atCommand = before === undefined || before.kind === "operator" || STARTS_COMMAND.has(before.text)
  if (!atCommand) return 0
  return OPENS.has(token.text) ? 1 : CLOSES.has(token.text) ? -1 : 0
}

const STARTS_COMMAND = new Set(["{", "if", "then", "elif", "else", "do", "while", "until", "!", "time"])
