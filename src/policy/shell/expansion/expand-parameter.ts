import type { ParameterExpansionPart, ParameterOperation, Word } from "unbash"

import { assertNever } from "../../../base/assert-never.ts"
import type { Frame, Interpreter } from "../interpreter.ts"
import { knownWord, UNSET_OR_UNKNOWN } from "../scope.ts"
import type { Value } from "../scope.ts"
import { compilePattern, isCheap, matches } from "./shell-pattern.ts"
import type { ShellPattern } from "./shell-pattern.ts"
import type { ShellWord } from "../understood-command.ts"
import { readVariable, scalarOf } from "./variables.ts"

/** What a parameter expands to. `isList`: an array whose elements stay separate words. Undefined: not known. */
export interface ParameterWords {
  readonly words: readonly ShellWord[]
  readonly isList: boolean
  /** `$*` rather than `$@`: one word when quoted. */
  readonly isJoined: boolean
}

/** How the words inside `${…}` are expanded. */
export interface OperandExpansion {
  readonly whole: (word: Word) => ShellWord
  /** The text of a pattern with quoted characters escaped. */
  readonly pattern: (word: Word) => string | undefined
  readonly number: (word: Word) => number | undefined
  readonly assign: (name: string, word: ShellWord) => void
  /** Runs the substitutions that a text contains, as `${x@P}` does. */
  readonly again: (text: string) => ShellWord
}

const LONGEST_VALUE = 4096

/** Only the beginning of the search path is known, and it is what obfuscated commands cut a slash from. */
const USUAL_PATH_START = "/usr/local/"

export function expandParameter(
  part: ParameterExpansionPart,
  context: { readonly frame: Frame; readonly interpreter: Interpreter; readonly operands: OperandExpansion },
): ParameterWords | undefined {
  const { frame, interpreter, operands } = context
  if (part.prefix === "!" && part.operation?.type === "Names") {
    const names = frame.scope.variableNames().filter((name) => name.startsWith(part.parameter))
    return { words: names.map(knownWord), isList: true, isJoined: part.operation.operator === "*" }
  }
  const name = part.prefix === "!" ? indirectName(part, context) : part.parameter
  if (name === undefined) return undefined
  const read = readVariable(name, frame, interpreter)
  const isOpen =
    read.kind === "unknown" && part.operation?.type === "Default" && frame.scope.variable(name) === undefined
  const value = isOpen ? interpreter.choose(UNSET_OR_UNKNOWN) : read
  const selected = select(value, name, part, operands)
  if (part.prefix === "#") return lengthOf(selected)
  if (part.operation === undefined)
    return selected === undefined || selected === "unset" ? emptyFor(selected) : selected
  return operate(part.operation, { name, selected, operands })
}

function emptyFor(selected: undefined | "unset"): ParameterWords | undefined {
  return selected === undefined ? undefined : single(knownWord(""))
}

function single(word: ShellWord): ParameterWords {
  return { words: [word], isList: false, isJoined: false }
}

function indirectName(
  part: ParameterExpansionPart,
  { frame, interpreter, operands }: Parameters<typeof expandParameter>[1],
): string | undefined {
  const word = scalarOf(readVariable(part.parameter, frame, interpreter))
  // `${!x}` of x='a[$(command)]'
  if (word?.known === true && word.text.includes("[")) operands.again(word.text)
  return word?.known === true && /^(?:[A-Za-z_]\w*|\d+|[@*#?])$/u.test(word.text) ? word.text : undefined
}

type Selected = ParameterWords | "unset" | undefined

function select(value: Value, name: string, part: ParameterExpansionPart, operands: OperandExpansion): Selected {
  const index = part.prefix === "!" ? undefined : part.index
  const indexText = index?.text
  const isAll = indexText === "@" || indexText === "*" || name === "@" || name === "*"
  const key = index === undefined || isAll ? undefined : operands.whole(index)
  // The index is evaluated even where there is no such element.
  if (index !== undefined && !isAll && value.kind !== "list" && value.kind !== "text") operands.number(index)
  if (value.kind === "unknown" || value.kind === "either") return undefined
  if (value.kind === "unset") return isAll ? { words: [], isList: true, isJoined: false } : "unset"
  if (isAll) {
    const words = value.kind === "list" ? [...value.items.values()] : [value.word]
    if (part.prefix === "!" && name !== "@" && name !== "*") return undefined
    return { words, isList: true, isJoined: indexText === "*" || name === "*" }
  }
  if (index === undefined) {
    const word = scalarOf(value)
    return word === undefined ? undefined : single(word)
  }
  const number = operands.number(index)
  if (value.kind === "text") return number === 0 ? single(value.word) : number === undefined ? undefined : "unset"
  const fromEnd = number !== undefined && number < 0 ? [...value.items.values()].at(number) : undefined
  const found =
    value.items.get(key?.text ?? "") ?? (number === undefined ? undefined : value.items.get(String(number))) ?? fromEnd
  if (found !== undefined) return single(found)
  return key?.known === true ? "unset" : undefined
}

function lengthOf(selected: Selected): ParameterWords | undefined {
  if (selected === undefined) return undefined
  if (selected === "unset") return single(knownWord("0"))
  if (selected.isList) return single(knownWord(String(selected.words.length)))
  const [word] = selected.words
  return word?.known === true ? single(knownWord(String(word.text.length))) : undefined
}

interface Operated {
  readonly name: string
  readonly selected: Selected
  readonly operands: OperandExpansion
}

function operate(operation: ParameterOperation, { name, selected, operands }: Operated): ParameterWords | undefined {
  if (operation.type === "Default") return withDefault(operation, { name, selected, operands })
  const subject = selected ?? (name === "PATH" ? single(knownWord(USUAL_PATH_START)) : undefined)
  if (subject === undefined) {
    expandUnused(operation, operands)
    return undefined
  }
  const from = subject === "unset" ? single(knownWord("")) : subject
  if (operation.type === "Slice" && from.isList) return sliceList(from, operation, { name, operands })
  const change = transformation(operation, operands)
  if (change === undefined) return undefined
  const words: ShellWord[] = []
  for (const word of from.words) {
    if (!word.known || word.text.length > LONGEST_VALUE) return undefined
    const changed = change(word.text)
    if (changed === undefined) return undefined
    words.push(typeof changed === "string" ? { ...word, text: changed } : changed)
  }
  return { ...from, words }
}

/** Expands operands only for the commands inside them. */
function expandUnused(operation: ParameterOperation, operands: OperandExpansion): void {
  if (operation.type === "Replace") {
    operands.whole(operation.pattern)
    operands.whole(operation.replacement)
  } else if (operation.type === "Remove") operands.whole(operation.operand)
  else if (operation.type === "Slice") {
    operands.number(operation.offset)
    if (operation.length !== undefined) operands.number(operation.length)
  }
}

function withDefault(
  { operator, operand }: ParameterOperation & { type: "Default" },
  { name, selected, operands }: Operated,
): ParameterWords | undefined {
  const given = operands.whole(operand)
  // The other alternative of an unknown variable is that it is not set.
  if (selected === undefined) return operator.endsWith("+") ? single(given) : undefined
  const isNull =
    selected === "unset" ||
    selected.words.length === 0 ||
    (operator.startsWith(":") && selected.words.every(({ text, known }) => known && text === ""))
  if (operator.endsWith("+")) return single(isNull ? knownWord("") : given)
  if (!isNull) return selected
  if (operator.endsWith("=")) operands.assign(name, given)
  return operator.endsWith("?") ? undefined : single(given)
}

function sliceList(
  { words, isJoined }: ParameterWords,
  operation: ParameterOperation & { type: "Slice" },
  { name, operands }: { readonly name: string; readonly operands: OperandExpansion },
): ParameterWords | undefined {
  const offset = operands.number(operation.offset)
  const length = operation.length === undefined ? words.length : operands.number(operation.length)
  if (offset === undefined || length === undefined) return undefined
  // "$@" counts from 1, an array from 0.
  const start = (name === "@" || name === "*") && offset > 0 ? offset - 1 : offset < 0 ? words.length + offset : offset
  return { words: words.slice(start, start + length), isList: true, isJoined }
}

type Transformation = (text: string) => string | ShellWord | undefined

function transformation(operation: ParameterOperation, operands: OperandExpansion): Transformation | undefined {
  switch (operation.type) {
    case "Slice": {
      const offset = operands.number(operation.offset)
      const length = operation.length === undefined ? Number.MAX_SAFE_INTEGER : operands.number(operation.length)
      if (offset === undefined || length === undefined) return undefined
      return (text) => {
        const start = offset < 0 ? Math.max(0, text.length + offset) : offset
        return length < 0 ? text.slice(start, text.length + length) : text.slice(start, start + length)
      }
    }
    case "Remove": {
      const pattern = compiled(operands.pattern(operation.operand))
      return pattern && ((text) => removeMatch(text, pattern, operation.operator))
    }
    case "Replace": {
      const pattern = compiled(operands.pattern(operation.pattern))
      const replacement = operands.whole(operation.replacement)
      if (pattern === undefined || !replacement.known) return undefined
      return (text) => replaceMatch(text, pattern, { operator: operation.operator, replacement: replacement.text })
    }
    case "CaseModification": {
      if (operation.operand !== undefined && operation.operand.text !== "") return undefined
      const isUpper = operation.operator.startsWith("^")
      return (text) => {
        const end = operation.operator.length === 2 ? text.length : 1
        const changed = isUpper ? text.slice(0, end).toUpperCase() : text.slice(0, end).toLowerCase()
        return changed + text.slice(end)
      }
    }
    case "Transform":
      return transformBy(operation.operand.text, operands)
    case "Default":
    case "Names":
    case "Unknown":
      return undefined
    default:
      return assertNever(operation)
  }
}

function transformBy(letter: string, operands: OperandExpansion): Transformation | undefined {
  switch (letter) {
    case "U":
      return (text) => text.toUpperCase()
    case "u":
      return (text) => text.slice(0, 1).toUpperCase() + text.slice(1)
    case "L":
      return (text) => text.toLowerCase()
    case "P":
    case "E":
      return (text) => operands.again(text)
    default:
      return undefined
  }
}

function compiled(pattern: string | undefined): ShellPattern | undefined {
  return pattern === undefined ? undefined : compilePattern(pattern)
}

function removeMatch(text: string, pattern: ShellPattern, operator: string): string | undefined {
  if (!isCheap(pattern, text.length) || text.length > 1024) return undefined
  const lengths = Array.from({ length: text.length + 1 }, (_, length) => length)
  const isLongest = operator.length === 2
  const isPrefix = operator.startsWith("#")
  for (const length of isLongest ? lengths.toReversed() : lengths) {
    const piece = isPrefix ? text.slice(0, length) : text.slice(text.length - length)
    if (matches(pattern, piece) === true) return isPrefix ? text.slice(length) : text.slice(0, text.length - length)
  }
  return text
}

interface Replacement {
  readonly operator: string
  readonly replacement: string
}

function replaceMatch(text: string, pattern: ShellPattern, { operator, replacement }: Replacement): string | undefined {
  if (!isCheap(pattern, text.length) || text.length > 512) return undefined
  let result = ""
  let at = 0
  let work = 0
  while (at <= text.length) {
    const isAllowedStart = operator !== "/#" || at === 0
    const end = isAllowedStart ? longestMatch(text, at, { pattern, toEnd: operator === "/%" }) : undefined
    work += text.length - at
    if (work > 50_000) return undefined
    if (end === undefined) {
      result += text[at] ?? ""
      at += 1
      continue
    }
    result += replacement
    if (operator !== "//") return result + text.slice(end)
    at = end
  }
  return result
}

function longestMatch(
  text: string,
  from: number,
  { pattern, toEnd }: { readonly pattern: ShellPattern; readonly toEnd: boolean },
): number | undefined {
  for (let end = text.length; end > from; end -= 1) {
    if (pattern.expression.test(text.slice(from, end))) return end
    if (toEnd) return undefined
  }
  return undefined
}
