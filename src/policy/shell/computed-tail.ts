import { normalize } from "node:path/posix"

import type { ShellWord } from "./understood-command.ts"

/** Stands for a part that only the shell can compute. No path has it. */
const COMPUTED = "\0"
const LONGEST_WORD = 2048

/**
 * The names in a path of which the shell computes the beginning, one list for each name that may follow it: `.ssh/id_rsa` and `id_rsa` of
 * `$(command)/../.ssh/id_rsa`. A `..` leads to a directory that is not known either, and is left out.
 */
export function computedEnds(text: string): readonly (readonly string[])[] {
  const names = normalize(withoutExpansions(text.slice(0, LONGEST_WORD)))
    .split("/")
    .filter((name) => !/^\.{0,2}$/u.test(name))
    .slice(-MOST_NAMES)
  return names.map((name, index) => [
    name.slice(name.lastIndexOf(COMPUTED) + 1),
    // A part in the middle may be any name.
    ...names.slice(index + 1).map((later) => later.replaceAll(COMPUTED, "x")),
  ])
}

const MOST_NAMES = 12

/** The directory in the home that a word such as `$(command)/.ssh` may name. */
export function hiddenDirectory({ text, known }: ShellWord, userHome: string): readonly string[] {
  const names = known ? undefined : computedEnds(text).find(([first]) => first?.startsWith(".") === true)
  return names === undefined ? [] : [`${userHome}/${names.join("/")}`]
}

function withoutExpansions(text: string): string {
  let plain = ""
  for (let at = 0; at < text.length;) {
    const length = expansionLength(text, at)
    plain += length === 0 ? (text[at] ?? "") : COMPUTED
    at += Math.max(length, 1)
  }
  return plain
}

const VARIABLE = /\$(?:\w+|[@*#?$!-])|\{\}/uy

function expansionLength(text: string, at: number): number {
  if (text[at] === "`") return Math.max(text.indexOf("`", at + 1) + 1, at + 1) - at
  if (text[at] === "$" && (text[at + 1] === "(" || text[at + 1] === "{")) return nestedLength(text, at + 1) + 1
  VARIABLE.lastIndex = at
  return VARIABLE.exec(text)?.[0].length ?? 0
}

/** How long the parenthesis or brace at an index is, with those inside it. */
function nestedLength(text: string, from: number): number {
  const open = text[from] ?? ""
  const close = open === "(" ? ")" : "}"
  let depth = 0
  for (let at = from; at < text.length; at += 1) {
    if (text[at] === open) depth += 1
    else if (text[at] === close) depth -= 1
    if (depth === 0) return at + 1 - from
  }
  return text.length - from
}
