import type { ShellWord } from "./understood-command.ts"

/** What a program for sed does beside editing text. */
export interface SedProgram {
  /** Commands that a shell runs. Undefined: the text that sed works on. */
  readonly executes: readonly (string | undefined)[]
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  /** False when sed would refuse it, or when it is not understood. */
  readonly isValid: boolean
}

export interface SedArguments {
  /** The values of `-e`, and without `-e` and `-f` the first word that is no option. */
  readonly script: ShellWord | undefined
  readonly files: readonly ShellWord[]
}

export function sedArguments(words: readonly ShellWord[]): SedArguments {
  const given: ShellWord[] = []
  const operands: ShellWord[] = []
  let hasFile = false
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]
    if (word === undefined) break
    if (word.text === "--") {
      operands.push(...words.slice(at + 1))
      break
    }
    const option = sedOption(word)
    if (option === undefined) operands.push(word)
    else if (option.letter === "f") {
      hasFile = true
      if (option.value === undefined) at += 1
    } else if (option.letter === "e") {
      const value = option.value ?? words[at + 1]
      if (option.value === undefined) at += 1
      if (value !== undefined) given.push(value)
    } else if (option.letter === "l" && option.value === undefined) at += 1
  }
  const hasScript = given.length > 0 || hasFile
  const scripts = hasScript ? given : operands.slice(0, 1)
  const script: ShellWord = {
    text: scripts.map(({ text }) => text).join("\n"),
    known: scripts.every(({ known }) => known),
    pattern: false,
  }
  return {
    script: scripts.length === 0 ? undefined : script,
    files: hasScript ? operands : operands.slice(1),
  }
}

/** An option, and which of those with a value it ends in. */
function sedOption(
  word: ShellWord,
): { readonly letter: string | undefined; readonly value: ShellWord | undefined } | undefined {
  const { text } = word
  if (!text.startsWith("-") || text === "-") return undefined
  const long = /^--(expression|file|line-length)(?:=([^]*))?$/u.exec(text)
  if (text.startsWith("--")) {
    const [, name, value] = long ?? []
    return { letter: name?.slice(0, 1), value: value === undefined ? undefined : { ...word, text: value } }
  }
  // What follows `i` is the suffix of copies.
  const [, letter, value = ""] = /^-[nrEsuz]*([eflib])([^]*)$/u.exec(text) ?? []
  return { letter, value: value === "" ? undefined : { ...word, text: value } }
}

const LONGEST_PROGRAM = 20_000
const NOTHING: SedProgram = { executes: [], reads: [], writes: [], isValid: false }

/** Reads a program. Parts that only the shell knows may be numbers, text or commands: what one of these leads to counts. */
export function readSedProgram({ text, known }: ShellWord): SedProgram {
  if (text.length > LONGEST_PROGRAM) return NOTHING
  const first = new SedReader(text).read()
  if (known) return first
  return ["1", "p"].map((part) => new SedReader(text.replaceAll(COMPUTED, part)).read()).reduce(join, first)
}

const COMPUTED = /\$\([^()]*\)|\$\{[^{}]*\}|\$\w+|`[^`]*`/gu

function join(one: SedProgram, other: SedProgram): SedProgram {
  return {
    executes: [...one.executes, ...other.executes],
    reads: [...one.reads, ...other.reads],
    writes: [...one.writes, ...other.writes],
    isValid: one.isValid || other.isValid,
  }
}

class SedReader {
  readonly #text: string
  readonly #executes: (string | undefined)[] = []
  readonly #reads: string[] = []
  readonly #writes: string[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): SedProgram {
    let isValid = true
    while (isValid) {
      this.#skip(/[\s;]*/uy)
      if (this.#at >= this.#text.length) break
      isValid = this.#readAddresses() && this.#readCommand()
    }
    return { executes: this.#executes, reads: this.#reads, writes: this.#writes, isValid }
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [found = ""] = pattern.exec(this.#text) ?? []
    this.#at += found.length
    return found
  }

  #readAddresses(): boolean {
    if (!this.#readAddress()) return false
    if (this.#skip(/\s*,\s*/uy) !== "" && this.#skip(/[+~]\d+/uy) === "" && !this.#readAddress()) return false
    this.#skip(/[\s!]*/uy)
    return true
  }

  /** True when there is none. */
  #readAddress(): boolean {
    if (this.#skip(/\d+(?:~\d+)?|\$/uy) !== "") return true
    const delimiter = this.#skip(/\/|\\[^\n]/uy)
    if (delimiter === "") return true
    if (this.#readUntil(delimiter.slice(-1), "pattern") === undefined) return false
    this.#skip(/[IM]*/uy)
    return true
  }

  /** The text before the next delimiter, which is passed. In a pattern, brackets may contain it. */
  #readUntil(delimiter: string, kind: "pattern" | "text"): string | undefined {
    const start = this.#at
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at]
      if (character === delimiter) {
        this.#at += 1
        return this.#text.slice(start, this.#at - 1)
      }
      if (character === "\\") this.#at += 2
      else if (character === "[" && kind === "pattern") this.#skip(BRACKET)
      else this.#at += 1
    }
    return undefined
  }

  #readCommand(): boolean {
    const command = this.#text[this.#at]
    this.#at += 1
    switch (command) {
      case "{":
        return true
      case "#":
        this.#restOfLine()
        return true
      case "a":
      case "i":
      case "c":
        this.#readText()
        return true
      case ":":
      case "b":
      case "t":
      case "T":
      case "v":
        this.#skip(/[^;\n}]*/uy)
        return true
      case "l":
      case "L":
      case "q":
      case "Q":
        this.#skip(/\s*\d*/uy)
        return this.#endsHere()
      case "e":
        this.#executes.push(this.#restOfLine() || undefined)
        return true
      case "r":
      case "R":
        this.#reads.push(this.#restOfLine())
        return true
      case "w":
      case "W":
        this.#writes.push(this.#restOfLine())
        return true
      case "s":
        return this.#readSubstitution()
      case "y":
        return this.#readPair("text") !== undefined && this.#endsHere()
      default:
        return command !== undefined && "=dDgGhHnNpPxzF}".includes(command) && this.#endsHere()
    }
  }

  #restOfLine(): string {
    const line = this.#skip(/[^\n]*/uy)
    return line.trim()
  }

  /** A text goes on behind a backslash at the end of its line. */
  #readText(): void {
    this.#skip(/[ \t]*(?:\\[ \t]*\n)?(?:[^\\\n]|\\[^])*/uy)
  }

  #endsHere(): boolean {
    this.#skip(/[ \t\r]*/uy)
    const next = this.#text[this.#at]
    return next === undefined || ";}#\n".includes(next)
  }

  #readPair(first: "pattern" | "text"): string | undefined {
    const [delimiter] = this.#skip(/[^\n\\]/uy)
    if (delimiter === undefined || this.#readUntil(delimiter, first) === undefined) return undefined
    return this.#readUntil(delimiter, "text")
  }

  #readSubstitution(): boolean {
    const replacement = this.#readPair("pattern")
    if (replacement === undefined) return false
    const flags = this.#skip(/[gpiIMm0-9e \t]*/uy)
    // The result is executed, of which the replacement is a part.
    if (flags.includes("e")) this.#executes.push(replacement.replaceAll(/\\(\d|[&/])|&/gu, "") || undefined)
    if (this.#text[this.#at] === "w") {
      this.#at += 1
      this.#writes.push(this.#restOfLine())
      return true
    }
    return this.#endsHere()
  }
}

/** A list of characters, which may begin with a bracket, and in which a backslash stands for itself. */
const BRACKET = /\[\^?\]?(?:\[[:.=][^\]]*\]|\\[^\]]|[^\]])*\]?/uy
