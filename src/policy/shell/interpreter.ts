import type { ParsedScript, Word } from "unbash"
import type { Scope, Value } from "./scope.ts"
import type {
  CommandInput,
  CommandWrapper,
  Doubt,
  NameSource,
  Redirection,
  ShellWord,
  SimpleCommand,
} from "./understood-command.ts"

/** A word during interpretation. */
export interface Field extends ShellWord {
  /** An unquoted part is not known, so that the word may turn into several words or none. */
  readonly splits?: boolean
  /** A process substitution: the text that reading it gives, when it is known. */
  readonly process?: { readonly output: string | undefined; readonly names?: NameSource | undefined }
}

/** Standard input of a command: its description for the result, and its text when that is known. */
export interface Input {
  readonly from: CommandInput | undefined
  readonly text: string | undefined
  /** Where the text comes from when it is not known. */
  readonly names?: NameSource | undefined
  /** The program that may be its content. */
  readonly copies?: string | undefined
}

/** Input that some command writes, but the line does not say what. */
export const COMPUTED_INPUT: Input = {
  from: { kind: "text", word: { text: "", known: false, pattern: false } },
  text: undefined,
}

/** Where and how commands are interpreted. */
export interface Frame {
  readonly scope: Scope
  /** The text that the positions of the syntax tree refer to. */
  readonly text: string
  readonly source: SimpleCommand["source"]
  readonly wrappers: readonly CommandWrapper[]
  readonly remote?: string | undefined
  readonly input: Input
  readonly background: boolean
  /** Names of the aliases and functions that led here. */
  readonly active: readonly string[]
}

/** A simple command whose words are expanded. */
export interface Call {
  readonly argv: readonly Field[]
  readonly assignments: SimpleCommand["assignments"]
  readonly redirections: readonly Redirection[]
  readonly frame: Frame
  /** Started by another program or by `command`, which do not see functions. */
  readonly skipsFunctions?: boolean
}

export interface Outcome {
  /** What is written to standard output; undefined when it is not known. */
  readonly output: string | undefined
  /** Where the output comes from when it is not known. */
  readonly names?: NameSource | undefined
  /** The program that may be a copy of: `cat /bin/rm`. */
  readonly copies?: string | undefined
  /** Index of the command whose output it is. */
  readonly index: number | undefined
  /** `leaves`: the shell ends, as after `exit`. `breaks`: the list ends, as after `continue`. `succeeds`: nothing it does can fail. */
  readonly result: "leaves" | "breaks" | "succeeds" | "open"
}

export const SILENT: Outcome = { output: "", index: undefined, result: "succeeds" }
export const UNKNOWN_OUTCOME: Outcome = { output: undefined, index: undefined, result: "open" }

/** What the parts of the interpretation ask of each other. */
export interface Interpreter {
  readonly userHome: string
  /** Interprets a parsed script in the frame's own shell. */
  runScript(script: ParsedScript, frame: Frame): Outcome
  /** Parses text and interprets it in the frame's own shell; the nesting of such texts is limited. */
  runText(text: string, frame: Frame): Outcome
  /** Interprets a command whose words are known already, for example one behind `sudo`. */
  runCall(call: Call): Outcome
  /** Parses a single word; undefined when the text is more or less than that. */
  parseWord(text: string): Word | undefined
  /** Interprets a command once for each possible value of the variables that it reads. */
  withAlternatives(frame: Frame, run: (frame: Frame) => Outcome): Outcome
  /** The names in a list that are worth judging, once its files were read. */
  namesIn(source: NameSource | undefined): readonly string[]
  /** Lists a command and returns its index. */
  emit(call: Call): number
  doubt(kind: Doubt["kind"], text: string, reason: string): void
  /** Picks one of several possible values; the command is interpreted again for each of the others. */
  choose(value: Value & { readonly kind: "either" }): Value
  /** Counts work; false when the limit is reached. */
  spend(amount: number): boolean
}
