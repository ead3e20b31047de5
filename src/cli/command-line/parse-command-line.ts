import { nearest } from "../../base/nearest-name.ts"
import type { Command, CommandTree, Flag, FlagValues, Positional } from "../command.ts"
import { findCommand, flagsOf, isCommandAvailable } from "./command-lookup.ts"
import { createFlagValues } from "./flag-values.ts"
import { checkFlagValue } from "./check-flag-value.ts"

export type ParsedCommandLine =
  | {
      readonly kind: "run"
      readonly path: readonly string[]
      readonly command: Command
      readonly flags: FlagValues
      readonly positionals: readonly string[]
    }
  | { readonly kind: "help"; readonly path: readonly string[] }
  | { readonly kind: "version" }
  /** A command or flag of a later release. */
  | { readonly kind: "unavailable"; readonly what: string }
  | { readonly kind: "replaced"; readonly path: readonly string[]; readonly by: string }
  /** A user error: one sentence, exit code 2. */
  | { readonly kind: "usage"; readonly message: string }

/**
 * Parses the words of a command line. A session name after `-c` or `-r` ends at a word that is a command; only if that fails is
 * the command word taken as part of the name. Words after such a name belong to it rather than to a prompt.
 */
export function parseCommandLine(words: readonly string[], tree: CommandTree): ParsedCommandLine {
  const strict = new CommandLineParser(words, tree, "names-end-at-commands").parse()
  if (strict.kind !== "usage" && !hasWordsAfterName(strict, tree)) return strict
  const greedy = new CommandLineParser(words, tree, "names-may-contain-commands").parse()
  return greedy.kind === "usage" ? strict : greedy
}

function hasWordsAfterName(line: ParsedCommandLine, { runFlags, defaultCommand }: CommandTree): boolean {
  if (line.kind !== "run" || line.command.name !== defaultCommand || line.positionals.length === 0) return false
  return runFlags.some((flag) => flag.joinsWords === true && line.flags.has(flag.name))
}

type NameRule = "names-end-at-commands" | "names-may-contain-commands"

/** Thrown to end parsing early with a result; caught in `parse`. */
class EarlyResult extends Error {
  readonly line: ParsedCommandLine
  constructor(line: ParsedCommandLine) {
    super("the result is known")
    this.line = line
  }
}

class CommandLineParser {
  private readonly words: readonly string[]
  private readonly tree: CommandTree
  private readonly nameRule: NameRule
  private position = 0
  private readonly chain: Command[] = []
  private readonly given = new Map<string, (string | undefined)[]>()
  /** Flags before the command; the command must accept them. */
  private readonly givenAtRoot = new Map<string, Flag>()
  private readonly positionals: string[] = []
  private flagsEnded = false

  constructor(words: readonly string[], tree: CommandTree, nameRule: NameRule) {
    this.words = words
    this.tree = tree
    this.nameRule = nameRule
  }

  parse(): ParsedCommandLine {
    try {
      while (this.position < this.words.length) this.readWord(this.take())
      return this.finish()
    } catch (error) {
      if (error instanceof EarlyResult) return error.line
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
      if (current === undefined && word === "help") this.showHelpFor(this.words.slice(this.position))
    }
    if (current === undefined) {
      // Several words in quotes are a prompt. One word is a command, so that a typing mistake does not start a conversation.
      if (!this.flagsEnded && this.positionals.length === 0 && !/\S\s+\S/u.test(word)) {
        const suggestion = didYouMean(word, [...commandWords(candidates), "help"])
        const hint =
          suggestion === "" ? ` Write a prompt in quotes, or after \`hermes ${this.tree.defaultCommand}\`.` : ""
        this.fail(`Unknown command \`${word}\`.${suggestion}${hint} See \`hermes --help\`.`)
      }
      this.positionals.push(word)
      return
    }
    if (candidates.length > 0 && (current.positionals ?? []).length === 0) {
      const name = this.fullName(current)
      this.fail(
        `\`${name}\` has no subcommand \`${word}\`.${didYouMean(word, commandWords(candidates))} See \`${name} --help\`.`,
      )
    }
    this.positionals.push(word)
  }

  private showHelpFor(words: readonly string[]): never {
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
    throw new EarlyResult({ kind: "help", path })
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
    if (flag.name === "help") throw new EarlyResult({ kind: "help", path: this.chain.map((command) => command.name) })
    if (this.chain.length === 0) {
      if (flag.name === "version") throw new EarlyResult({ kind: "version" })
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
        `\`${spelling}\` needs a value${next === undefined ? "" : `; write \`--${flag.name}=VALUE\` if the value starts with a dash`}.`,
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
      if (this.nameRule === "names-end-at-commands" && findCommand(this.tree.commands, next) !== undefined) break
      words.push(next)
      this.position += 1
    }
    return words
  }

  private finish(): ParsedCommandLine {
    const command = this.current() ?? findCommand(this.tree.commands, this.tree.defaultCommand)
    if (command === undefined) throw new Error("the command tree has no default command")
    const chain = this.chain.length === 0 ? [command] : this.chain
    const path = chain.map((entry) => entry.name)
    if (command.replacedBy !== undefined) return { kind: "replaced", path, by: command.replacedBy }
    if (command.load === undefined && !isCommandAvailable(command))
      return { kind: "unavailable", what: `hermes ${path.join(" ")}` }
    if (command.load === undefined) {
      const names = (command.subcommands ?? []).map((entry) => entry.name).join(", ")
      return { kind: "usage", message: `\`hermes ${path.join(" ")}\` needs a subcommand: ${names}.` }
    }
    const declared = [...flagsOf(chain), ...this.tree.commonFlags, ...this.tree.runFlags]
    this.checkFlagsBeforeCommand(command, declared)
    this.checkCombinations(declared)
    this.checkPositionals(command)
    return { kind: "run", path, command, flags: createFlagValues(declared, this.given), positionals: this.positionals }
  }

  /** Flags of the default command, such as a prompt, must not be ignored silently when another command is named. */
  private checkFlagsBeforeCommand(command: Command, declared: readonly Flag[]): void {
    if (command.name === this.tree.defaultCommand) return
    const known = new Set(declared.map((flag) => flag.name))
    for (const name of this.givenAtRoot.keys()) {
      if (name === "oneshot" || !known.has(name)) {
        this.fail(
          `\`--${name}\` is a flag of \`hermes ${this.tree.defaultCommand}\` and cannot be used with \`${this.fullName(command)}\`.`,
        )
      }
    }
  }

  private checkCombinations(declared: readonly Flag[]): void {
    for (const flag of declared) {
      if (!this.given.has(flag.name)) continue
      if (flag.later === true) throw new EarlyResult({ kind: "unavailable", what: `--${flag.name}` })
      const clash = flag.conflictsWith?.find((other) => this.given.has(other))
      if (clash !== undefined) this.fail(`\`--${flag.name}\` and \`--${clash}\` cannot be used together.`)
    }
  }

  private checkPositionals(command: Command): void {
    const expected = command.positionals ?? []
    const name = this.fullName(command)
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

  /** The flags that are valid at this position, the nearest declaration first. */
  private scope(): readonly Flag[] {
    if (this.chain.length > 0) {
      return [...flagsOf(this.chain), ...this.tree.commonFlags]
    }
    const fallback = findCommand(this.tree.commands, this.tree.defaultCommand)
    return [...this.tree.rootFlags, ...this.tree.runFlags, ...this.tree.commonFlags, ...(fallback?.flags ?? [])]
  }

  /** The Python edition wrote some long names with underscores. */
  private findLong(name: string): Flag | undefined {
    const scope = this.scope()
    const dashed = name.replaceAll("_", "-")
    return scope.find((flag) => flag.name === name) ?? scope.find((flag) => flag.name === dashed)
  }

  private isKnownFlag(word: string): boolean {
    if (word.startsWith("--")) return this.findLong(word.slice(2).split("=", 1)[0] ?? "") !== undefined
    return word.length === 2 && word.startsWith("-") && this.scope().some((flag) => flag.short === word[1])
  }

  /** A command of a later release is reported as unavailable, even with unknown flags. */
  private failUnknownFlag(spelling: string): void {
    const current = this.current()
    if (current !== undefined && !isCommandAvailable(current)) return
    const scope = this.scope()
    const known = spelling.startsWith("--")
      ? scope.filter((flag) => flag.hidden !== true).map((flag) => `--${flag.name}`)
      : []
    const name = current === undefined ? "hermes" : this.fullName(current)
    this.fail(`Unknown flag \`${spelling}\`.${didYouMean(spelling, known)} See \`${name} --help\`.`)
  }

  private fullName(command: Command): string {
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
    throw new EarlyResult({ kind: "usage", message })
  }
}

/** `-` is a file name, `-5` a number and `- item` text; everything else that starts with a dash is a flag. */
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
