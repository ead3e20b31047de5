import { LineInterpreter } from "./line-interpreter.ts"
import { isStackOverflow } from "./parse-shell.ts"
import { Scope } from "./scope.ts"
import type { ShellState, UnderstoodCommand } from "./understood-command.ts"

const LONGEST_LINE = 262_144

/** The state of a shell in which nothing was run yet. */
export function INITIAL_SHELL_STATE(directory: string | undefined): ShellState {
  return { directory, variables: new Map(), functions: new Map(), aliases: new Map() }
}

export interface InterpretationFacts {
  readonly userHome: string
  /** Names in the files from which the line takes words, by path. They take the place of those words. */
  readonly listedNames?: ReadonlyMap<string, readonly string[]>
}

/** Finds every command that a line would run, without running anything. Never throws. */
export function understandCommand(line: string, state: ShellState, facts: InterpretationFacts): UnderstoodCommand {
  const interpreter = new LineInterpreter(facts.userHome, facts.listedNames)
  const scope = new Scope(state)
  const isTooLong = line.length > LONGEST_LINE
  if (isTooLong) interpreter.doubt("length", "", "the command is longer than 256 KB")
  try {
    interpreter.runText(isTooLong ? line.slice(0, LONGEST_LINE) : line, {
      scope,
      text: line,
      source: "line",
      wrappers: [],
      input: { from: undefined, text: undefined },
      background: false,
      active: [],
    })
  } catch (error) {
    if (!isStackOverflow(error)) throw error
    interpreter.doubt("depth", "", "the command is nested too deeply")
  }
  return {
    commands: interpreter.commands,
    doubts: interpreter.doubts,
    lists: [...interpreter.lists],
    after: scope.toState(),
  }
}
