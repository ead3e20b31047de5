import { expandAgain, runIndex, runIndexValue } from "../expansion/expand-word.ts"
import type { Call, Field, Interpreter, Outcome } from "../interpreter.ts"
import { arithmeticValue } from "../expansion/expand-word.ts"
import { doubtNamedCommand, rememberNamedCommands } from "../named-commands.ts"
import { asPart, HIDDEN_NAMES, joinNames } from "../name-source.ts"
import { formatPrintf } from "../output/printf.ts"
import { knownWord, textValue, UNKNOWN, unknownFrom, UNSET } from "../scope.ts"
import type { Value } from "../scope.ts"
import { readVariable, scalarOf, separatorsOf } from "../expansion/variables.ts"

type Result = Outcome["result"]

const NAME = /^[A-Za-z_]\w*$/u
const ASSIGNMENT = /^([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=(.*)$/su

export function exportVariables(call: Call, interpreter: Interpreter): Result {
  if (hasFlag(call, "f")) {
    // Every bash that is started from here on sees an exported function.
    for (const { text } of operandsOf(call)) {
      const { frame } = call
      const body = frame.scope.function(text)?.body
      if (body === undefined) continue
      const scope = frame.scope.fork()
      scope.positional = undefined
      interpreter.runText(body, { ...frame, scope, source: "function", active: [...frame.active, `function ${text}`] })
    }
    return "succeeds"
  }
  for (const name of assignOperands(call, interpreter)) call.frame.scope.export(name)
  return "succeeds"
}

export function declareVariables(call: Call, interpreter: Interpreter): Result {
  if (hasFlag(call, "f") || hasFlag(call, "F") || hasFlag(call, "p")) return "succeeds"
  if (!hasFlag(call, "g") && call.argv[0]?.text !== "readonly") localNames(call)
  if (call.argv.some(({ text }) => /^-[A-Za-z]*n/u.test(text))) return referToVariables(call, interpreter)
  const names = assignOperands(call, interpreter)
  if (hasFlag(call, "x")) for (const name of names) call.frame.scope.export(name)
  return "succeeds"
}

/** `declare -n name=target`. A target that is not known may be any variable. */
function referToVariables(call: Call, interpreter: Interpreter): Result {
  const { scope } = call.frame
  for (const { text, known } of operandsOf(call)) {
    runIndexValue(text, { frame: call.frame, interpreter })
    const [, name, , , target] = ASSIGNMENT.exec(text) ?? []
    if (name === undefined || target === undefined) {
      if (NAME.test(text)) scope.setVariable(text, UNKNOWN)
      continue
    }
    scope.refer(name, undefined)
    const isKept = known && NAME.test(target) && scope.refer(name, target)
    if (!isKept) scope.setVariable(name, UNKNOWN)
  }
  return "succeeds"
}

export function makeLocal(call: Call, interpreter: Interpreter): Result {
  return declareVariables(call, interpreter)
}

function localNames(call: Call): void {
  for (const { text } of operandsOf(call)) {
    const name = /^[A-Za-z_]\w*/u.exec(text)?.[0]
    if (name === undefined) continue
    call.frame.scope.makeLocal(name)
    if (text === name && call.argv[0]?.text === "local") call.frame.scope.setVariable(name, UNSET)
  }
}

/** Applies the `name=value` operands and returns all names. */
function assignOperands(call: Call, interpreter: Interpreter): readonly string[] {
  const { frame } = call
  const names: string[] = []
  for (const word of operandsOf(call)) {
    runIndex(word.text.split("=", 1)[0] ?? "", { frame, interpreter })
    runIndexValue(word.text, { frame, interpreter })
    const [, name, index, append, text] = ASSIGNMENT.exec(word.text) ?? []
    if (name === undefined || text === undefined) {
      if (NAME.test(word.text)) names.push(word.text)
      continue
    }
    names.push(name)
    // Lists are assigned where the words are expanded.
    if (text.startsWith("(") && frame.scope.variable(name)?.kind === "list") continue
    const before = append === "+" ? scalarOf(readVariable(name, frame, interpreter)) : knownWord("")
    if (index !== undefined) {
      const items = new Map([[index.slice(1, -1), { ...word, text }]])
      rememberNamedCommands(name, { kind: "list", items }, frame.scope, interpreter)
    }
    if (index !== undefined || before === undefined) frame.scope.setVariable(name, UNKNOWN)
    else {
      const known = word.known && before.known
      const names = append === "+" ? joinNames(before.names, word.names) : word.names
      frame.scope.setVariable(name, {
        kind: "text",
        word: { text: before.text + text, known, pattern: false, ...(names !== undefined && { names }) },
      })
    }
  }
  return names
}

export function unsetNames(call: Call, interpreter: Interpreter): Result {
  const { scope } = call.frame
  for (const { text } of operandsOf(call)) {
    runIndex(text, { frame: call.frame, interpreter })
    const isFunction =
      hasFlag(call, "f") ||
      (!hasFlag(call, "v") && scope.variable(text) === undefined && scope.function(text) !== undefined)
    if (isFunction) scope.unsetFunction(text)
    else if (NAME.test(text)) scope.setVariable(text, UNSET)
  }
  return "succeeds"
}

const READ_OPTIONS_WITH_VALUE = "adinNptu"

export function readInput(call: Call, interpreter: Interpreter): Result {
  const { frame } = call
  const { options, operands } = parseOptions(call, READ_OPTIONS_WITH_VALUE)
  const names = operands.map(({ text }) => text).filter((name) => NAME.test(name))
  for (const { text } of operands) {
    runIndex(text, { frame, interpreter })
    doubtNamedCommand(text, interpreter)
  }
  const separators = separatorsOf(frame, interpreter)
  const { text } = frame.input
  if (text !== undefined) runIndexValue(text, { frame, interpreter })
  const array = options.get("a")
  if (text === undefined || separators === undefined || options.has("u") || options.has("d") || options.has("n")) {
    // A line that is read in pieces, or of which the ends are cut off, is no longer the name that it was.
    const isWhole =
      names.length === 1 &&
      [...options.keys()].every((letter) => letter === "r") &&
      /^[ \t\n]*$/u.test(separators ?? "x")
    const source = isWhole ? frame.input.names : asPart(frame.input.names)
    const line = unknownFrom(options.has("u") ? HIDDEN_NAMES : source)
    for (const name of array === undefined ? names : [array]) frame.scope.setVariable(name, line)
    if (names.length === 0 && array === undefined) frame.scope.setVariable("REPLY", line)
    return "open"
  }
  const lines = text.replace(/\n$/u, "").split("\n")
  const readings = (lines.length > 8 ? [] : lines).map((line) =>
    splitLine(
      options.has("r") ? line : line.replaceAll(/\\(.)/gu, "$1"),
      separators,
      array === undefined ? names.length : Infinity,
    ),
  )
  if (array !== undefined) {
    const [first] = readings
    const items = new Map((first ?? []).map((field, index) => [String(index), knownWord(field)]))
    frame.scope.setVariable(array, readings.length === 1 ? { kind: "list", items } : UNKNOWN)
    return "open"
  }
  for (const [index, name] of (names.length === 0 ? ["REPLY"] : names).entries()) {
    // In a loop each line has its turn.
    const values = [...new Set(readings.map((fields) => fields[index] ?? ""))].map((field) => textValue(field))
    frame.scope.setVariable(name, oneOf(values))
  }
  return "open"
}

function oneOf(values: readonly Value[]): Value {
  const [only] = values
  if (only === undefined) return UNKNOWN
  return values.length === 1 ? only : { kind: "either", values }
}

/** Splits a line as `read` does: the last name gets the rest. */
function splitLine(line: string, separators: string, count: number): readonly string[] {
  const blanks = Array.from(separators)
    .filter((one) => " \t\n".includes(one))
    .join("")
  let rest = trim(line, blanks)
  const fields: string[] = []
  while (fields.length + 1 < count && rest !== "") {
    const at = Array.from(rest).findIndex((character) => separators.includes(character))
    if (at === -1) break
    fields.push(rest.slice(0, at))
    rest = trim(rest.slice(at + 1), blanks)
  }
  return [...fields, rest]
}

function trim(text: string, characters: string): string {
  let start = 0
  let end = text.length
  while (start < end && characters.includes(text[start] ?? "")) start += 1
  while (end > start && characters.includes(text[end - 1] ?? "")) end -= 1
  return text.slice(start, end)
}

export function readLines(call: Call, interpreter: Interpreter): Result {
  const { options, operands } = parseOptions(call, "dnOsuCc")
  runCallback(options.get("C"), call, interpreter)
  const { scope, input } = call.frame
  const name = operands[0]?.text ?? "MAPFILE"
  if (input.text !== undefined) runIndexValue(input.text, { frame: call.frame, interpreter })
  const lines = input.text?.replace(/\n$/u, "").split("\n")
  if (lines === undefined || lines.length > 1000 || options.has("d") || options.has("u"))
    scope.setVariable(name, unknownFrom(options.has("u") ? HIDDEN_NAMES : asPart(input.names)))
  else
    scope.setVariable(name, {
      kind: "list",
      items: new Map(lines.map((line, index) => [String(index), knownWord(line)])),
    })
  return "succeeds"
}

/** `compgen -C command` and `complete -C command` run it for words to choose from. */
export function generateCompletions(call: Call, interpreter: Interpreter): Result {
  const { options } = parseOptions(call, "ACFGoPSWX")
  runCallback(options.get("C"), call, interpreter)
  runCallback(options.get("F"), call, interpreter)
  // The list of words is expanded again.
  const list = options.get("W")
  if (list !== undefined) expandAgain(list, { frame: call.frame, interpreter })
  return "open"
}

/** A command that a builtin runs with arguments of its own. */
function runCallback(command: string | undefined, { frame }: Call, interpreter: Interpreter): void {
  if (command !== undefined && command !== "") interpreter.runText(command, { ...frame, source: "nested" })
}

export function evaluateLet({ argv, frame }: Call, interpreter: Interpreter): Result {
  for (const { text, known } of argv.slice(1)) {
    const [part] = known ? (interpreter.parseWord(`$((${text}))`)?.parts ?? []) : []
    if (part?.type === "ArithmeticExpansion") arithmeticValue(part.expression, { frame, interpreter })
    else runIndex(text, { frame, interpreter })
  }
  return "open"
}

/** `test -v 'a[$(command)]'` and numeric comparisons evaluate the index. */
export function evaluateTest({ argv, frame }: Call, interpreter: Interpreter): Result {
  for (const { text, known } of argv.slice(1)) {
    if (known && /^[A-Za-z_]\w*\[/u.test(text)) runIndex(text, { frame, interpreter })
  }
  return "open"
}

/** `set -- a b` replaces the positional parameters. */
export function setOptions({ argv, frame: { scope } }: Call): Result {
  for (let at = 1; at < argv.length; at += 1) {
    const { text } = argv[at] ?? knownWord("")
    if (text === "--" || !/^[-+]/u.test(text)) {
      scope.positional = argv.slice(text === "--" ? at + 1 : at)
      if (scope.positional.some((word: Field) => word.splits === true)) scope.positional = undefined
      return "succeeds"
    }
    if (text === "-o" || text === "+o") at += 1
    if (/^-[A-Za-z]*a/u.test(text) || (text === "-o" && argv[at]?.text === "allexport")) scope.exportsEverything = true
  }
  return "succeeds"
}

/** `jobs -x command` runs it. */
export function runJobs(call: Call, interpreter: Interpreter): Result | Outcome {
  const [, option, ...words] = call.argv
  if (option?.text.startsWith("-x") !== true || words.length === 0) return "open"
  return interpreter.runCall({ ...call, argv: words })
}

export function shiftPositional({ argv, frame: { scope } }: Call): Result {
  const count = Number(argv[1]?.text ?? "1")
  scope.positional = Number.isInteger(count) && argv[1]?.known !== false ? scope.positional?.slice(count) : undefined
  return "open"
}

/** `printf -v name format …`. */
export function assignPrinted(call: Call, interpreter: Interpreter): Result {
  const [, option, name, ...rest] = call.argv
  if (option?.text !== "-v" || name === undefined) return "succeeds"
  runIndex(name.text, { frame: call.frame, interpreter })
  doubtNamedCommand(name.text, interpreter)
  const output = rest.every(({ known, pattern }) => known && !pattern)
    ? formatPrintf(rest.map(({ text }) => text))
    : undefined
  if (output !== undefined) runIndexValue(output, { frame: call.frame, interpreter })
  if (NAME.test(name.text)) call.frame.scope.setVariable(name.text, output === undefined ? UNKNOWN : textValue(output))
  return "succeeds"
}

function hasFlag({ argv }: Call, flag: string): boolean {
  return argv.slice(1).some(({ text }) => /^[-+][A-Za-z]+$/u.test(text) && text.includes(flag))
}

function operandsOf({ argv }: Call): readonly Field[] {
  return argv.slice(1).filter(({ text }) => !/^[-+]/u.test(text))
}

interface ParsedOptions {
  readonly options: ReadonlyMap<string, string>
  readonly operands: readonly Field[]
}

function parseOptions({ argv }: Call, withValue: string): ParsedOptions {
  const options = new Map<string, string>()
  let at = 1
  for (; at < argv.length; at += 1) {
    const { text } = argv[at] ?? knownWord("")
    if (!/^-[A-Za-z]/u.test(text)) break
    for (const [index, letter] of text.slice(1).split("").entries()) {
      if (!withValue.includes(letter)) {
        options.set(letter, "")
        continue
      }
      const attached = text.slice(index + 2)
      if (attached === "") at += 1
      options.set(letter, attached === "" ? (argv[at]?.text ?? "") : attached)
      break
    }
  }
  return { options, operands: argv.slice(at).filter(({ text }) => text !== "--") }
}
