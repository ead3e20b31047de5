import { outputTargets } from "./command-paths.ts"
import { isCodeVariable } from "./code-variables.ts"
import { programName } from "./invocation.ts"
import { READ_ONLY_PROGRAMS, READ_ONLY_XARGS } from "./read-only-programs.ts"
import type { ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"

/** True when every command of a line is in the fixed set of commands that only read. What is not understood does not count as reading. */
export function isReadOnly(understood: UnderstoodCommand): boolean {
  if (understood.doubts.length > 0 || understood.commands.length === 0) return false
  // A variable of an earlier command may decide which program a name starts.
  for (const [name, value] of understood.after.variables) if (isCodeVariable(name, value)) return false
  return understood.commands.every(isReadingCommand)
}

/** True for one command of the fixed set. */
export function isReadingCommand(command: SimpleCommand): boolean {
  if (command.source === "remote") return false
  if (command.assignments.some(({ name }) => !HARMLESS_VARIABLES.has(name))) return false
  if (!outputTargets(command).every(({ text, known }) => known && text === "/dev/null")) return false
  if (command.argv.length === 0) return command.redirections.length > 0 || command.assignments.length > 0
  const program = programName(command.program ?? "")
  if (command.program === undefined || !isUsualProgram(command.argv[0]) || !areHarmless(command, program)) return false
  const rule = READ_ONLY_PROGRAMS.get(program)
  if (rule === undefined) return false
  const words = command.argv.slice(1)
  // A word that the shell computes may turn into an option.
  if (rule !== "any" && words.some(({ known, pattern }) => !known || (pattern && rule.options))) return false
  return rule === "any" || rule.reads(words.map(({ text }) => text))
}

/** A program in a directory of its own may be anything. */
function isUsualProgram(word: ShellWord | undefined): boolean {
  return word !== undefined && word.known && /^(?:\/(?:usr\/)?(?:local\/)?s?bin\/)?[^/]+$/u.test(word.text)
}

/** Programs that start the command without changing what it does. */
function areHarmless(command: SimpleCommand, program: string): boolean {
  return command.wrappers.every((wrapper) => {
    const name = programName(wrapper.program)
    if (name === "xargs") return READ_ONLY_XARGS.has(program)
    return HARMLESS_WRAPPERS.has(name) && wrapper.argv.every(({ known, text }) => known && !text.includes("="))
  })
}

const HARMLESS_WRAPPERS = new Set(["time", "timeout", "nice", "command", "builtin", "!", "stdbuf"])
const HARMLESS_VARIABLES = new Set(["LC_ALL", "LANG", "LC_CTYPE", "TZ", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"])
