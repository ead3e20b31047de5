import { runBuiltin } from "./builtins/builtins.ts"
import type { Call, Field, Interpreter, Outcome } from "./interpreter.ts"
import { UNKNOWN_OUTCOME } from "./interpreter.ts"
import { knownOutput } from "./output/known-output.ts"
import { outputNames } from "./output/output-names.ts"
import { runParallel, runXargs } from "./nested/nested-arguments.ts"
import { withFullOptions } from "./long-options.ts"
import { NESTED_PROGRAMS } from "./nested/nested-programs.ts"
import { foldName, programName } from "./program-name.ts"
import { filePath } from "./redirections.ts"
import { nestedSource, runShell, SHELLS } from "./nested/nested-shell.ts"
import { rememberRemotes } from "./git-remotes.ts"
import { rememberMovedFiles } from "./moved-files.ts"
import { copiedProgram, rememberCopies } from "./copied-programs.ts"
import { rememberDownloads, rememberLinks } from "./written-files.ts"
import { runVariableCommands } from "./nested/command-variables.ts"
import { compilePattern, matches } from "./expansion/shell-pattern.ts"
import { WRAPPERS } from "./nested/wrappers.ts"
import { unwrap } from "./nested/unwrap.ts"

/** Interprets a command whose words are expanded: functions, builtins, wrappers, nested shells, then any other program. */
export function runCall(written: Call, interpreter: Interpreter): Outcome {
  const [program] = written.argv
  if (program === undefined) return { output: "", index: interpreter.emit(written), result: "succeeds" }
  if (written.assignments.length > 0) runVariableCommands(written.assignments, written, interpreter)
  const called = written.skipsFunctions === true ? undefined : callFunction(written, program, interpreter)
  if (called !== undefined) return called
  runCopy(written, program, interpreter)
  const name = programName(program)
  if (name === undefined) return runUnknown(written, program, interpreter)
  const argv = withFullOptions(name, written.argv)
  const call = argv === written.argv ? written : { ...written, argv }
  const builtin = runBuiltin(name, call, interpreter)
  if (builtin !== undefined) return builtin
  if (SHELLS.has(name)) return runShell(call, interpreter)
  const wrapper = WRAPPERS.get(name)
  const unwrapped = wrapper
    ? unwrap(call, { name, wrapper }, interpreter)
    : ARGUMENT_WRAPPERS.get(name)?.(call, interpreter)
  if (unwrapped !== undefined) return unwrapped
  const direct = gitSubcommand(name, program)
  if (direct !== undefined) return interpreter.runCall({ ...call, argv: [...direct, ...call.argv.slice(1)] })
  const index = interpreter.emit(call)
  runWrittenScript(call, program, interpreter)
  NESTED_PROGRAMS.get(name)?.(call, interpreter)
  rememberDownloads(name, call)
  const copies = copiedProgram(call)
  if (copies !== undefined) rememberCopies(name, copies, call)
  rememberMovedFiles(name, call)
  rememberLinks(name, call)
  rememberRemotes(name, call)
  const output = knownOutput(name, call)
  if (output !== undefined) return { output, index, result: "succeeds" }
  return { output, names: outputNames(name, call), copies, index, result: "open" }
}

/** Git's own directory has a program for each subcommand: `/usr/lib/git-core/git-push`. */
function gitSubcommand(name: string, program: Field): readonly Field[] | undefined {
  if (!name.startsWith("git-") || !/(?:^|\/)git-core\/[^/]+$/u.test(program.text)) return undefined
  return ["git", name.slice("git-".length)].map((text) => ({ ...program, text }))
}

/** Wrappers that make arguments of what they read. */
const ARGUMENT_WRAPPERS: ReadonlyMap<string, (call: Call, interpreter: Interpreter) => Outcome | undefined> = new Map([
  ["xargs", runXargs],
  ["parallel", runParallel],
])

/** Names that a pattern in place of a program is tried against. */
const PATTERN_CANDIDATES =
  "rm dd sh bash mkfs shred shutdown reboot halt poweroff kill init chmod chown mv cp find".split(" ")

function runUnknown(call: Call, program: Field, interpreter: Interpreter): Outcome {
  const index = interpreter.emit(call)
  interpreter.doubt(
    "program",
    program.text,
    program.known ? "the name of the program is a pattern" : "the name of the program is computed by the shell",
  )
  // The word may turn out empty, and then the next one is the program.
  const next = call.argv[1]
  if (program.splits === true && next !== undefined && !next.text.startsWith("-")) {
    interpreter.runCall({ ...call, argv: call.argv.slice(1) })
  }
  if (program.known) {
    const pattern = compilePattern(foldName(program.text.slice(program.text.lastIndexOf("/") + 1)))
    for (const candidate of PATTERN_CANDIDATES) {
      if (pattern === undefined || matches(pattern, candidate) !== true) continue
      const guess: Field = { text: candidate, known: true, pattern: false }
      interpreter.runCall({ ...call, argv: [guess, ...call.argv.slice(1)] })
    }
  }
  return { ...UNKNOWN_OUTCOME, index }
}

/** A script that the line itself wrote. */
function runWrittenScript(call: Call, program: Field, interpreter: Interpreter): void {
  const { frame } = call
  const path = program.text.includes("/") ? filePath(program, frame.scope) : undefined
  if (path === undefined || !frame.scope.files.has(path)) return
  const text = frame.scope.files.get(path)
  const scope = frame.scope.child()
  scope.positional = call.argv.slice(1)
  if (text === undefined) interpreter.doubt("script", program.text, "the line itself writes the program that it runs")
  else if (SHELL_SCRIPT.test(text)) interpreter.runText(text, { ...frame, scope, source: nestedSource(frame) })
}

const SHELL_SCRIPT = /^(?!#!)|^#!.*\b(?:ba|z|da|k|a)?sh\b/u

/** A file that commands made of a program is judged as that program, too. */
function runCopy(call: Call, program: Field, interpreter: Interpreter): void {
  const { scope } = call.frame
  const path = scope.copies.size > 0 && program.text.includes("/") ? filePath(program, scope) : undefined
  const original = path === undefined ? undefined : scope.copies.get(path)
  if (original === undefined) return
  interpreter.runCall({ ...call, argv: [{ ...program, text: original }, ...call.argv.slice(1)] })
}

const MOST_RECURSIONS = 2

/** Undefined when the program is not a function. */
function callFunction(call: Call, program: Field, interpreter: Interpreter): Outcome | undefined {
  const { frame } = call
  const found = program.known ? frame.scope.function(program.text) : undefined
  if (found === undefined) return undefined
  const mark = `function ${program.text}`
  if (frame.active.filter((one) => one === mark).length >= MOST_RECURSIONS) {
    interpreter.doubt("depth", program.text, "the function calls itself")
    return { ...UNKNOWN_OUTCOME, index: interpreter.emit(call) }
  }
  if (found.body === undefined) {
    interpreter.doubt("program", program.text, "it is a function whose text is not known")
    return { ...UNKNOWN_OUTCOME, index: interpreter.emit(call) }
  }
  const { scope } = frame
  const { positional } = scope
  const leave = scope.enterFunction()
  scope.positional = call.argv.slice(1)
  if (call.redirections.length > 0) interpreter.emit({ ...call, argv: [] })
  const outcome = interpreter.runText(found.body, {
    ...frame,
    source: frame.source === "remote" ? "remote" : "function",
    active: [...frame.active, mark],
  })
  leave()
  scope.positional = positional
  const result = outcome.result === "breaks" ? "open" : outcome.result
  return found.certain ? { ...outcome, result } : undefined
}
