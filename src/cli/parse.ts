import { nearest } from "../base/nearest.ts"
import type { Command, CommandTree, Flag, FlagValues, Positional } from "./command.ts"
import { findCommand, isAvailable } from "./command-lookup.ts"
import { createFlagValues } from "./flag-values.ts"
import { checkFlagValue } from "./flag-check.ts"

export type ParsedLine =
  | {
      readonly kind: "run"
      readonly path: readonly string[]
      readonly command: Command
      readonly flags: FlagValues
      readonly positionals: readonly string[]
    }
  | { readonly kind: "help"; readonly path: readonly string[] }
  | { readonly kind: "version" }
  /** Understood, but not part of this release. */
  | { readonly kind: "unavailable"; readonly what: string }
  | { readonly kind: "replaced"; readonly path: readonly string[]; readonly by: string }
  /** The person's mistake: one sentence, exit 2. */
  | { readonly kind: "usage"; readonly message: string }

/**
 * Reads the words of a command line against the tree. A name after `-c` or `-r` ends at a word that is a command; only when
 * that reading fails is the command word taken as part of the name.
 */
export function parseLine(words: readonly string[], tree: CommandTree): ParsedLine {
  const strict = new LineReader(words, tree, "names-end-at-commands").read()
  if (strict.kind !== "usage") return strict
  const greedy = new LineReader(words, tree, "names-may-hold-commands").read()
  return greedy.kind === "usage" ? strict : greedy
}

type NameReading = "names-end-at-commands" | "names-may-hold-commands"

/** Thrown inside the reader to leave nested steps with the final answer; never leaves this file. */
class Answer extends Error {
  readonly line: ParsedLine
  constructor(line: ParsedLine) {
    super("the line is decided")
    this.line = line
  }
}

class LineReader {
  private readonly words: readonly string[]
  private readonly tree: CommandTree
  private readonly reading: NameReading
  private position = 0
  private readonly chain: Command[] = []
  private readonly given = new Map<string, (string | undefined)[]>()
  /** Flags given before any command, which must suit the command that follows. */
  private readonly givenAtRoot = new Map<string, Flag>()
  private readonly positionals: string[] = []
  private flagsEnded = false

  constructor(words: readonly string[], tree: CommandTree, reading: NameReading) {
    this.words = words
    this.tree = tree
    this.reading = reading
  }

  read(): ParsedLine {
    try {
      while (this.position < this.words.length) this.readWord(this.take())
      return this.finish()
    } catch (error) {
      if (error instanceof Answer) return error.line
      throw error
    }
  }

  private readWord(word: string): void {
    if (this.flagsEnded || !looksLikeFlag(word)) this.readPlainWord(word)
    else if (word === "--") this.flagsEnded = true
    else if (word.startsWith("--")) this.readLongFlag(word)
    else this.readShortFlags(word)
  }

  private readPlainWord(word: string): void {
    const current = this.current()
    const candidates = current === undefined ? this.tree.commands : (current.subcommands ?? [])
    if (!this.flagsEnded && this.positionals.length === 0) {
      const found = findCommand(candidates, word)
      if (found !== undefined) {
        this.chain.push(found)
        return
      }
      if (current === undefined && word === "help") this.answerHelpFor(this.words.slice(this.position))
    }
    if (current === undefined) {
      this.fail(
        `Unknown command \`${word}\`.${didYouMean(word, [...commandWords(candidates), "help"])} See \`hermes --help\`.`,
      )
    }
    if (candidates.length > 0 && (current.positionals ?? []).length === 0) {
      const name = this.spell(current)
      this.fail(
        `\`${name}\` has no sub-command \`${word}\`.${didYouMean(word, commandWords(candidates))} See \`${name} --help\`.`,
      )
    }
    this.positionals.push(word)
  }

  private answerHelpFor(words: readonly string[]): never {
    const path: string[] = []
    let candidates = this.tree.commands
    for (const word of words.filter((entry) => !entry.startsWith("-"))) {
      const found = findCommand(candidates, word)
      if (found === undefined) {
        return this.fail(
          `Unknown command \`${word}\`.${didYouMean(word, commandWords(candidates))} See \`hermes --help\`.`,
        )
      }
      path.push(found.name)
      candidates = found.subcommands ?? []
    }
    throw new Answer({ kind: "help", path })
  }

  private readLongFlag(word: string): void {
    const equals = word.indexOf("=")
    const name = equals === -1 ? word.slice(2) : word.slice(2, equals)
    const attached = equals === -1 ? undefined : word.slice(equals + 1)
    const flag = this.findLong(name)
    if (flag === undefined) {
      this.failUnknownFlag(`--${name}`)
      return
    }
    this.readFlag(flag, { spelling: `--${flag.name}`, attached })
  }

  private readShortFlags(word: string): void {
    for (let index = 1; index < word.length; index += 1) {
      const letter = word[index] ?? ""
      const flag = this.scope().find((candidate) => candidate.short === letter)
      if (flag === undefined) {
        this.failUnknownFlag(`-${letter}`)
        return
      }
      const rest = word.slice(index + 1)
      const takesRest = flag.value.kind !== "none" && rest !== ""
      const attached = takesRest ? rest.replace(/^=/, "") : undefined
      this.readFlag(flag, { spelling: `-${letter}`, attached })
      if (takesRest) return
    }
  }

  private readFlag(flag: Flag, given: { readonly spelling: string; readonly attached: string | undefined }): void {
    const { spelling, attached } = given
    if (flag.name === "help") throw new Answer({ kind: "help", path: this.chain.map((command) => command.name) })
    if (this.chain.length === 0) {
      if (flag.name === "version") throw new Answer({ kind: "version" })
      this.givenAtRoot.set(flag.name, flag)
    }
    const value = this.readValue(flag, { spelling, attached })
    if (value !== undefined) {
      const problem = checkFlagValue(flag, value)
      if (problem !== undefined) this.fail(`\`${spelling}\` ${problem}`)
    }
    const values = this.given.get(flag.name) ?? []
    values.push(value)
    if (flag.value.kind === "rest") values.push(...this.takeRest())
    this.given.set(flag.name, values)
  }

  private readValue(
    flag: Flag,
    given: { readonly spelling: string; readonly attached: string | undefined },
  ): string | undefined {
    const { spelling, attached } = given
    if (flag.value.kind === "none") {
      if (attached !== undefined) this.fail(`\`${spelling}\` takes no value.`)
      return undefined
    }
    if (attached !== undefined) return attached
    if (flag.value.kind === "rest") return undefined
    if (flag.value.kind === "optional-text") {
      const words = this.takeNameWords()
      return words.length === 0 ? undefined : words.join(" ")
    }
    const next = this.words[this.position]
    if (next === undefined || next === "--" || this.isKnownFlag(next)) {
      this.fail(
        `\`${spelling}\` needs a value${next === undefined ? "" : `; write \`--${flag.name}=VALUE\` if it begins with a dash`}.`,
      )
    }
    this.position += 1
    return flag.joinsWords === true ? [next, ...this.takeNameWords()].join(" ") : next
  }

  private takeRest(): readonly string[] {
    const rest = this.words.slice(this.position)
    this.position = this.words.length
    return rest
  }

  private takeNameWords(): readonly string[] {
    const words: string[] = []
    for (let next = this.words[this.position]; next !== undefined; next = this.words[this.position]) {
      if (looksLikeFlag(next)) break
      if (this.reading === "names-end-at-commands" && findCommand(this.tree.commands, next) !== undefined) break
      words.push(next)
      this.position += 1
    }
    return words
  }

  private finish(): ParsedLine {
    const command = this.current() ?? findCommand(this.tree.commands, this.tree.defaultCommand)
    if (command === undefined) throw new Error("the command tree lacks its default command")
    const chain = this.chain.length === 0 ? [command] : this.chain
    const path = chain.map((entry) => entry.name)
    if (command.replacedBy !== undefined) return { kind: "replaced", path, by: command.replacedBy }
    if (command.load === undefined && !isAvailable(command))
      return { kind: "unavailable", what: `hermes ${path.join(" ")}` }
    if (command.load === undefined) {
      const names = (command.subcommands ?? []).map((entry) => entry.name).join(", ")
      return { kind: "usage", message: `\`hermes ${path.join(" ")}\` needs a sub-command: ${names}.` }
    }
    const declared = [...chain.flatMap((entry) => entry.flags ?? []), ...this.tree.commonFlags, ...this.tree.runFlags]
    this.checkFlagsBeforeCommand(command, declared)
    this.checkCombinations(declared)
    this.checkPositionals(command)
    return { kind: "run", path, command, flags: createFlagValues(declared, this.given), positionals: this.positionals }
  }

  /** A prompt, and whatever only the default command understands, must not vanish because another command was named. */
  private checkFlagsBeforeCommand(command: Command, declared: readonly Flag[]): void {
    if (command.name === this.tree.defaultCommand) return
    const known = new Set(declared.map((flag) => flag.name))
    for (const name of this.givenAtRoot.keys()) {
      if (name === "oneshot" || !known.has(name)) {
        this.fail(
          `\`--${name}\` belongs to \`hermes ${this.tree.defaultCommand}\` and cannot be used with \`${this.spell(command)}\`.`,
        )
      }
    }
  }

  private checkCombinations(declared: readonly Flag[]): void {
    for (const flag of declared) {
      if (!this.given.has(flag.name)) continue
      if (flag.later === true) throw new Answer({ kind: "unavailable", what: `--${flag.name}` })
      const clash = flag.conflictsWith?.find((other) => this.given.has(other))
      if (clash !== undefined)
        this.fail(`\`--${flag.name}\` and \`--${clash}\` contradict each other; give one of them.`)
    }
  }

  private checkPositionals(command: Command): void {
    const expected = command.positionals ?? []
    const name = this.spell(command)
    for (const [index, positional] of expected.entries()) {
      const value = this.positionals[index]
      if (value === undefined) {
        if (positional.required) this.fail(`\`${name}\` needs ${positional.name} (${positional.summary}).`)
        continue
      }
      this.checkChoice(positional, value)
    }
    const extra = this.positionals[expected.length]
    if (extra !== undefined && expected.at(-1)?.rest !== true) {
      this.fail(`\`${name}\` does not take \`${extra}\`. See \`${name} --help\`.`)
    }
  }

  private checkChoice(positional: Positional, value: string): void {
    if (positional.choices === undefined || positional.choices.includes(value)) return
    this.fail(`${positional.name} must be one of ${positional.choices.join(", ")}, not \`${value}\`.`)
  }

  private current(): Command | undefined {
    return this.chain.at(-1)
  }

  /** The flags understood at this place, the nearest declaration first. */
  private scope(): readonly Flag[] {
    if (this.chain.length > 0) {
      return [...this.chain.toReversed().flatMap((command) => command.flags ?? []), ...this.tree.commonFlags]
    }
    const fallback = findCommand(this.tree.commands, this.tree.defaultCommand)
    return [...this.tree.rootFlags, ...this.tree.runFlags, ...this.tree.commonFlags, ...(fallback?.flags ?? [])]
  }

  /** The P-edition wrote some long names with underscores. */
  private findLong(name: string): Flag | undefined {
    const scope = this.scope()
    const dashed = name.replaceAll("_", "-")
    return scope.find((flag) => flag.name === name) ?? scope.find((flag) => flag.name === dashed)
  }

  private isKnownFlag(word: string): boolean {
    if (word.startsWith("--")) return this.findLong(word.slice(2).split("=", 1)[0] ?? "") !== undefined
    return word.length === 2 && word.startsWith("-") && this.scope().some((flag) => flag.short === word[1])
  }

  /** A command of a later release answers that it is not there, whatever flags it was given. */
  private failUnknownFlag(spelling: string): void {
    const current = this.current()
    if (current !== undefined && !isAvailable(current)) return
    const scope = this.scope()
    const known = spelling.startsWith("--")
      ? scope.filter((flag) => flag.hidden !== true).map((flag) => `--${flag.name}`)
      : []
    const name = current === undefined ? "hermes" : this.spell(current)
    this.fail(`Unknown flag \`${spelling}\`.${didYouMean(spelling, known)} See \`${name} --help\`.`)
  }

  private spell(command: Command): string {
    return this.chain.includes(command)
      ? `hermes ${this.chain.map((entry) => entry.name).join(" ")}`
      : `hermes ${command.name}`
  }

  private take(): string {
    const word = this.words[this.position] ?? ""
    this.position += 1
    return word
  }

  private fail(message: string): never {
    throw new Answer({ kind: "usage", message })
  }
}

/** `-` is a file name, `-5` a number, `- item` text; everything else with a dash is a flag. */
function looksLikeFlag(word: string): boolean {
  return /^-[^\s\d]/.test(word)
}

function commandWords(commands: readonly Command[]): readonly string[] {
  return commands.flatMap((command) => [command.name, ...(command.aliases ?? [])])
}

function didYouMean(word: string, candidates: readonly string[]): string {
  const suggestion = nearest(word, candidates)
  return suggestion === undefined ? "" : ` Did you mean \`${suggestion}\`?`
}
