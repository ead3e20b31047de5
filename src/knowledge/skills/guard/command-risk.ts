import type { CommandSnippet } from "./command-snippets.ts"
import type { GuardFinding } from "./guard-finding.ts"

/** What a command of a skill would do that a skill should not. */
export interface CommandRisk extends Pick<GuardFinding, "id" | "severity" | "category"> {
  readonly snippet: CommandSnippet
  /** The command, as far as it is known which one of the snippet it is. */
  readonly command: string
}

/**
 * Judges the command lines of one file, in their order. Passed in, because the knowledge of commands belongs to the policy, which this
 * layer cannot import.
 */
export type JudgeSnippets = (snippets: readonly CommandSnippet[]) => readonly CommandRisk[]

/** The line of the file in which the command begins: the one that has most of its first words. */
export function lineOf({ snippet, command }: CommandRisk): { readonly line: number; readonly text: string } {
  const words = command.split(SEPARATORS, MAX_WORDS).filter((word) => word !== "")
  let best = { line: snippet.line, text: snippet.text.split("\n", 1)[0] ?? "", score: 0 }
  for (const [index, text] of snippet.text.split("\n").entries()) {
    const tokens = text.split(SEPARATORS).filter((token) => token !== "")
    const inLine = new Set(tokens)
    const missing = words.findIndex((word) => !inLine.has(word))
    const score = (missing === -1 ? words.length : missing) + (tokens[0] === words[0] ? 0.5 : 0)
    if (score > best.score) best = { line: snippet.line + index, text, score }
  }
  return best
}

const SEPARATORS = /[\s;|&()`"']+/u
const MAX_WORDS = 30
