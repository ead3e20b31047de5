import { forEachChild } from "unbash"
import type { AndOr, Command, ParsedScript, SyntaxNode, Word } from "unbash"

import { isStackOverflow, parseShell } from "./parse-shell.ts"

/** A word as it stands in a command line. */
export interface WrittenWord {
  /** Without quotes; expansions stay as they are. */
  readonly value: string
  /** Offset after the word. Undefined inside nested backticks, whose text is unescaped before it is parsed. */
  readonly end: number | undefined
}

/** A command line as it is written, without expanding anything. */
export interface WrittenLine {
  /** The words of every simple command from its program on, including those inside substitutions. */
  readonly commands: readonly (readonly WrittenWord[])[]
  /** Something is started in the background with `&`. */
  readonly hasBackground: boolean
  /** Lists such as `a && b &` on the top level: where their last command begins, and the offset after the `&`. */
  readonly backgroundLists: readonly { readonly from: number; readonly to: number }[]
  readonly hasErrors: boolean
}

export function readCommandLine(line: string): WrittenLine {
  const script = parseShell(line)
  const commands: (readonly WrittenWord[])[] = []
  let hasBackground = false
  const visit = (node: SyntaxNode, isInLine: boolean): void => {
    if (node.type === "Command") commands.push(wordsOf(node, isInLine))
    if (node.type === "Statement" && node.background === true) hasBackground = true
    const isStillInLine = isInLine && !(node.type === "Script" && node.source !== undefined)
    forEachChild(node, (child) => visit(child, isStillInLine))
  }
  let isTooDeep = false
  try {
    visit(script, true)
  } catch (error) {
    if (!isStackOverflow(error)) throw error
    isTooDeep = true
  }
  return {
    commands: commands.filter((words) => words.length > 0),
    hasBackground,
    backgroundLists: backgroundLists(script, line),
    hasErrors: isTooDeep || script.errors !== undefined,
  }
}

function wordsOf({ name, suffix }: Command, isInLine: boolean): readonly WrittenWord[] {
  if (name === undefined) return []
  const toWord = ({ value, end }: Word): WrittenWord => ({ value, end: isInLine ? end : undefined })
  const words = suffix.flatMap((item) => {
    if (item.type === "Word") return [toWord(item)]
    return item.type === "Assignment" ? [{ value: item.text, end: isInLine ? item.end : undefined }] : []
  })
  return [toWord(name), ...words]
}

function backgroundLists({ commands }: ParsedScript, line: string): WrittenLine["backgroundLists"] {
  return commands.flatMap(({ command, background }) => {
    if (background !== true || command.type !== "AndOr") return []
    const last = lastOf(command)
    const at = last === undefined ? -1 : line.indexOf("&", last.end)
    return last === undefined || at === -1 ? [] : [{ from: last.pos, to: at + 1 }]
  })
}

function lastOf({ commands }: AndOr): AndOr["commands"][number] | undefined {
  return commands.at(-1)
}
