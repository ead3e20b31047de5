import { basename } from "node:path/posix"

import { assertNever } from "../../../base/assert-never.ts"
import type { Frame, Interpreter } from "../interpreter.ts"
import { knownWord, textValue, UNKNOWN, UNSET } from "../scope.ts"
import type { Value } from "../scope.ts"
import type { ShellWord } from "../understood-command.ts"

const DEFAULT_SEPARATORS = " \t\n"

/** What a name stands for in the shell; possible alternatives are already decided. */
export function readVariable(name: string, frame: Frame, interpreter: Interpreter): Value {
  const { scope } = frame
  const special = readSpecial(name, frame)
  if (special !== undefined) return special
  const value = scope.variable(name) ?? initialValue(scope.variableName(name), frame, interpreter.userHome)
  return value.kind === "either" ? interpreter.choose(value) : value
}

function readSpecial(name: string, { scope }: Frame): Value | undefined {
  if (name === "0") return { kind: "text", word: scope.program }
  if (name === "#") return scope.positional === undefined ? UNKNOWN : textValue(String(scope.positional.length))
  if (name === "@" || name === "*") {
    if (scope.positional === undefined) return UNKNOWN
    return { kind: "list", items: new Map(scope.positional.map((word, index) => [String(index + 1), word])) }
  }
  if (/^\d+$/u.test(name)) {
    if (scope.positional === undefined) return UNKNOWN
    const word = scope.positional[Number(name) - 1]
    return word === undefined ? UNSET : { kind: "text", word }
  }
  return /^[?$!_-]$/u.test(name) ? UNKNOWN : undefined
}

/** Variables that every shell starts with. */
function initialValue(name: string, { scope }: Frame, userHome: string): Value {
  switch (name) {
    case "HOME":
      return textValue(userHome)
    case "PWD": {
      const [directory] = scope.directories
      return directory === undefined ? UNKNOWN : textValue(directory)
    }
    case "USER":
    case "LOGNAME":
      return textValue(basename(userHome))
    case "SHELL":
    case "BASH":
      return textValue("/bin/bash")
    case "IFS":
      return textValue(DEFAULT_SEPARATORS)
    default:
      return UNKNOWN
  }
}

/** The characters at which unquoted expansions are split; undefined when they are not known. */
export function separatorsOf(frame: Frame, interpreter: Interpreter): string | undefined {
  const value = frame.scope.variable("IFS")
  if (value === undefined || value.kind === "unset") return DEFAULT_SEPARATORS
  const chosen = value.kind === "either" ? interpreter.choose(value) : value
  if (chosen.kind === "unset") return DEFAULT_SEPARATORS
  return chosen.kind === "text" && chosen.word.known ? chosen.word.text : undefined
}

/** The text of a value that is read without an index; undefined when it is not known at all. */
export function scalarOf(value: Value): ShellWord | undefined {
  switch (value.kind) {
    case "text":
      return value.word
    case "list":
      return value.items.get("0") ?? knownWord("")
    case "unset":
      return knownWord("")
    case "unknown":
    case "either":
      return undefined
    default:
      return assertNever(value)
  }
}

export function homeOf(frame: Frame, interpreter: Interpreter): string | undefined {
  const home = scalarOf(readVariable("HOME", frame, interpreter))
  return home?.known === true ? home.text : undefined
}
