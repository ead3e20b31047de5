import { changeDirectory, popDirectory, pushDirectory } from "./directory-builtins.ts"
import { defineAlias, evaluateText, evaluateTrap, hashProgram, sourceFile, unsetAlias } from "./text-builtins.ts"
import {
  assignPrinted,
  declareVariables,
  evaluateTest,
  evaluateLet,
  exportVariables,
  generateCompletions,
  makeLocal,
  readInput,
  readLines,
  runJobs,
  setOptions,
  shiftPositional,
  unsetNames,
} from "./variable-builtins.ts"
import type { Call, Interpreter, Outcome } from "../interpreter.ts"
import { knownOutput } from "../output/known-output.ts"
import { outputNames } from "../output/output-names.ts"

/** Builtins that change the shell or interpret text. Others count as programs. */
type Builtin = (call: Call, interpreter: Interpreter) => Outcome["result"] | Outcome

const BUILTIN_TABLE: Readonly<Record<string, Builtin>> = {
  cd: changeDirectory,
  chdir: changeDirectory,
  pushd: pushDirectory,
  popd: popDirectory,
  export: exportVariables,
  declare: declareVariables,
  typeset: declareVariables,
  readonly: declareVariables,
  local: makeLocal,
  unset: unsetNames,
  read: readInput,
  mapfile: readLines,
  readarray: readLines,
  compgen: generateCompletions,
  complete: generateCompletions,
  let: evaluateLet,
  set: setOptions,
  shift: shiftPositional,
  jobs: runJobs,
  wait: evaluateTest,
  getopts: evaluateTest,
  printf: assignPrinted,
  eval: evaluateText,
  source: sourceFile,
  ".": sourceFile,
  trap: evaluateTrap,
  alias: defineAlias,
  unalias: unsetAlias,
  hash: hashProgram,
  enable: hashProgram,
  exit: () => "leaves",
  return: () => "breaks",
  break: () => "breaks",
  continue: () => "breaks",
  ":": () => "succeeds",
  true: () => "succeeds",
  echo: () => "succeeds",
  shopt: () => "succeeds",
  test: evaluateTest,
  "[": evaluateTest,
}

/** Undefined for programs that are not in the table. */
export function runBuiltin(name: string, call: Call, interpreter: Interpreter): Outcome | undefined {
  const builtin = Object.hasOwn(BUILTIN_TABLE, name) ? BUILTIN_TABLE[name] : undefined
  if (builtin === undefined) return undefined
  const index = interpreter.emit(call)
  const done = builtin(call, interpreter)
  if (typeof done !== "string") return { ...done, index }
  const output = knownOutput(name, call) ?? (PRINTING.has(name) ? undefined : "")
  return { output, names: output === undefined ? outputNames(name, call) : undefined, index, result: done }
}

const PRINTING = new Set([
  "jobs",
  "compgen",
  "echo",
  "printf",
  "declare",
  "typeset",
  "set",
  "alias",
  "trap",
  "hash",
  "export",
])
