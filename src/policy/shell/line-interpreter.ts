import type { ParsedScript, Word } from "unbash"

import type { Call, Frame, Interpreter, Outcome } from "./interpreter.ts"
import { UNKNOWN_OUTCOME } from "./interpreter.ts"
import { parseShell } from "./parse-shell.ts"
import { programName } from "./program-name.ts"
import { runCall } from "./run-call.ts"
import { runStatements } from "./run-statements.ts"
import { UNKNOWN } from "./scope.ts"
import type { Scope, Value } from "./scope.ts"
import type { Doubt, NameSource, ShellWord, SimpleCommand } from "./understood-command.ts"

const MOST_COMMANDS = 2000
const MOST_WORK = 20_000
/** Texts inside texts, as in `sh -c "sh -c …"`. */
const DEEPEST_TEXT = 5
/** Compound commands, substitutions and calls inside each other. */
const DEEPEST_NESTING = 200
const MOST_ALTERNATIVES = 8
const MOST_LISTS = 20
/** Options whose value is text for people: `git commit -m "$(cat message.txt)"`. */
const MESSAGE = /^(?:-[a-z]*m|--(?:message|title|body|notes|description))$/u

/** Interprets one command line and collects the commands that it would run. */
export class LineInterpreter implements Interpreter {
  readonly userHome: string
  readonly commands: SimpleCommand[] = []
  readonly doubts: Doubt[] = []
  /** Files that contain words of the commands. */
  readonly lists = new Set<string>()
  readonly #listedNames: ReadonlyMap<string, readonly string[]> | undefined
  /** Commands by their text. What else they consist of is compared when a second one has the same text. */
  readonly #seen = new Map<string, { first: SimpleCommand; index: number; indexes?: Map<string, number> }>()
  readonly #choices: { readonly value: Value & { kind: "either" }; index: number }[] = []
  /** The simple commands that are being interpreted, with their state before the first choice. */
  readonly #levels: { readonly scope: Scope; before?: Scope }[] = []
  #work = 0
  #textDepth = -1
  #nesting = 0

  constructor(userHome: string, listedNames?: ReadonlyMap<string, readonly string[]>) {
    this.userHome = userHome
    this.#listedNames = listedNames
  }

  runScript(script: ParsedScript, frame: Frame): Outcome {
    const [error] = script.errors ?? []
    if (error !== undefined) {
      this.doubt("syntax", frame.text.slice(error.pos, error.pos + 80), `bash cannot parse it: ${error.message}`)
    }
    if (this.#nesting >= DEEPEST_NESTING) {
      this.doubt("depth", frame.text.slice(script.pos, script.pos + 80), "commands are nested too deeply")
      return UNKNOWN_OUTCOME
    }
    this.#nesting += 1
    try {
      return runStatements(script.commands, frame, this)
    } finally {
      this.#nesting -= 1
    }
  }

  runText(text: string, frame: Frame): Outcome {
    if (this.#textDepth >= DEEPEST_TEXT) {
      this.doubt("depth", text.slice(0, 80), "commands are nested too deeply")
      return UNKNOWN_OUTCOME
    }
    if (!this.spend(1 + text.length / 100)) return UNKNOWN_OUTCOME
    this.#textDepth += 1
    try {
      return this.runScript(parseShell(text), { ...frame, text })
    } finally {
      this.#textDepth -= 1
    }
  }

  runCall(call: Call): Outcome {
    if (!this.spend(1)) return UNKNOWN_OUTCOME
    if (this.#nesting >= DEEPEST_NESTING) {
      this.doubt("depth", call.argv[0]?.text.slice(0, 80) ?? "", "commands are nested too deeply")
      return UNKNOWN_OUTCOME
    }
    this.#nesting += 1
    try {
      return runCall(call, this)
    } finally {
      this.#nesting -= 1
    }
  }

  parseWord(text: string): Word | undefined {
    // A leading # would start a comment.
    const script = parseShell(`_ ${text.startsWith("#") ? "\\" : ""}${text}`)
    const [statement, ...others] = script.commands
    if (script.errors !== undefined || statement?.command.type !== "Command" || others.length > 0) return undefined
    const [word, ...rest] = statement.command.suffix
    return word?.type === "Word" && rest.length === 0 ? word : undefined
  }

  withAlternatives(frame: Frame, run: (frame: Frame) => Outcome): Outcome {
    const base = this.#choices.length
    const level: { readonly scope: Scope; before?: Scope } = { scope: frame.scope }
    this.#levels.push(level)
    let outcome = run(frame)
    for (let count = 1; this.#nextAlternative(base); count += 1) {
      if (count >= MOST_ALTERNATIVES || !this.spend(1)) {
        this.doubt("expansion", "", "it depends on too many conditions")
        break
      }
      const scope = (level.before ?? frame.scope).fork()
      const other = run({ ...frame, scope })
      frame.scope.join(scope)
      if (other.output !== outcome.output) outcome = { ...outcome, output: undefined }
    }
    this.#choices.length = base
    this.#levels.pop()
    return outcome
  }

  /** Advances the choices made since `base` to the next combination; false after the last one. */
  #nextAlternative(base: number): boolean {
    while (this.#choices.length > base) {
      const last = this.#choices.at(-1)
      if (last === undefined) return false
      if (last.index + 1 < last.value.values.length) {
        last.index += 1
        return true
      }
      this.#choices.pop()
    }
    return false
  }

  choose(value: Value & { kind: "either" }): Value {
    // Outside of a simple command nothing is interpreted again for the other alternatives.
    const level = this.#levels.at(-1)
    if (level === undefined) return UNKNOWN
    let choice = this.#choices.find((one) => one.value === value)
    if (choice === undefined) {
      choice = { value, index: 0 }
      this.#choices.push(choice)
      level.before ??= level.scope.fork()
    }
    return value.values[choice.index] ?? UNKNOWN
  }

  namesIn(source: NameSource | undefined): readonly string[] {
    const names = this.#listedNames
    return source === undefined || names === undefined ? [] : source.files.flatMap((path) => names.get(path) ?? [])
  }

  emit(call: Call): number {
    for (const [index, { names }] of call.argv.entries())
      if (names !== undefined && !MESSAGE.test(call.argv[index - 1]?.text ?? "")) this.#rememberLists(names)
    for (const { target } of call.redirections) if (target.names !== undefined) this.#rememberLists(target.names)
    let first: number | undefined
    for (const directory of call.frame.scope.directories) {
      const index = this.#emitIn(call, directory)
      first ??= index
    }
    return first ?? 0
  }

  #rememberLists({ files }: NameSource): void {
    for (const path of files) if (this.lists.size < MOST_LISTS) this.lists.add(path)
  }

  #emitIn({ argv, assignments, redirections, frame }: Call, directory: string | undefined): number {
    const words = argv.map(toShellWord)
    const text = words.map((word) => word.text).join(" ")
    const wholeText = [
      ...assignments.map(({ name, value }) => `${name}=${value.text}`),
      ...frame.wrappers.flatMap((wrapper) => wrapper.argv.map((word) => word.text)),
      text,
    ].join(" ")
    const command: SimpleCommand = {
      argv: words,
      program: argv[0] === undefined ? undefined : programName(argv[0]),
      wrappers: frame.wrappers,
      assignments,
      redirections,
      directory,
      input: frame.input.from,
      background: frame.background,
      source: frame.source,
      ...(frame.remote !== undefined && { remote: frame.remote }),
      text,
      wholeText,
    }
    this.spend(wholeText.length / 500)
    // Loops and alternatives repeat commands; each is listed once. Comparing is only needed for those with the same text.
    const similar = this.#seen.get(wholeText)
    if (similar !== undefined) {
      similar.indexes ??= new Map([[identityOf(similar.first), similar.index]])
      const seen = similar.indexes.get(identityOf(command))
      if (seen !== undefined) return seen
    }
    if (this.commands.length >= MOST_COMMANDS) {
      this.doubt("length", text.slice(0, 80), "the line runs too many commands")
      return this.commands.length - 1
    }
    this.commands.push(command)
    const index = this.commands.length - 1
    if (similar === undefined) this.#seen.set(wholeText, { first: command, index })
    else similar.indexes?.set(identityOf(command), index)
    return index
  }

  doubt(kind: Doubt["kind"], text: string, reason: string): void {
    if (this.doubts.length < 100 && !this.doubts.some((one) => one.kind === kind && one.text === text)) {
      this.doubts.push({ kind, text, reason })
    }
  }

  spend(amount: number): boolean {
    this.#work += amount
    if (this.#work <= MOST_WORK) return true
    this.doubt("length", "", "interpreting the line takes too much work")
    return false
  }
}

function identityOf({
  argv,
  wrappers,
  assignments,
  redirections,
  directory,
  input,
  remote,
  source,
}: SimpleCommand): string {
  return JSON.stringify([argv, wrappers, assignments, redirections, directory, input, remote, source])
}

function toShellWord({ text, known, pattern, names }: ShellWord): ShellWord {
  return names === undefined ? { text, known, pattern } : { text, known, pattern, names }
}
